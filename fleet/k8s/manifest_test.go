package k8s

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// pod has the fields of the manifest's DaemonSet that concern users and access.
type pod struct {
	Kind string
	Spec struct {
		Template struct {
			Spec struct {
				AutomountServiceAccountToken *bool
				Containers                   []container
				Volumes                      []struct {
					Name      string
					Projected *struct{}
					HostPath  *struct{ Path, Type string }
				}
			}
		}
	}
}

type container struct {
	Name            string
	SecurityContext struct {
		RunAsUser, RunAsGroup int
		RunAsNonRoot          bool
	}
	VolumeMounts []struct{ Name, MountPath string }
}

func (c *container) mounts(path string) (volume string) {
	for _, m := range c.VolumeMounts {
		if m.MountPath == path {
			return m.Name
		}
	}
	return ""
}

// The container that reads packets from the network cannot see the token. The container that reads
// records runs as a user other than the daemon's, so that its files count as those of a guest.
func TestManifestKeepsContainersApart(t *testing.T) {
	text, err := os.ReadFile("../../contrib/kubernetes/srdtun.yaml")
	must(t, err)
	var p pod
	for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
		if !bytes.Contains(part, []byte("kind: DaemonSet")) {
			continue
		}
		must(t, yaml.Unmarshal(part, &p))
	}
	spec := p.Spec.Template.Spec
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		t.Error("each container gets the token")
	}
	const (
		token = "/var/run/secrets/kubernetes.io/serviceaccount" // rest.InClusterConfig
		dir   = "/var/lib/srdtun-fleet/cluster"
	)
	owner := 0
	for _, c := range spec.Containers {
		if agent := c.Name == "members"; (c.mounts(token) != "") != agent {
			t.Errorf("container %s: token %q", c.Name, c.mounts(token))
		} else if agent {
			if owner = c.SecurityContext.RunAsUser; owner == 0 || !c.SecurityContext.RunAsNonRoot || c.SecurityContext.RunAsGroup != owner {
				t.Errorf("container %s: %+v", c.Name, c.SecurityContext)
			}
		}
	}
	for _, v := range spec.Volumes {
		// With another type, kubelet would create the directory for root, and the agent could not
		// write to it.
		if v.HostPath != nil && v.HostPath.Path == dir && v.HostPath.Type != "Directory" {
			t.Errorf("%s: type %s", v.Name, v.HostPath.Type)
		}
	}
	for _, want := range []string{fmt.Sprintf("owner = %d", owner), fmt.Sprintf("install -d -o %d -g %d %s", owner, owner, dir)} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in the head of the manifest", want)
		}
	}
}
