// Command ociimage writes a tar file with a container image of one static program, equivalent to
// the Dockerfile's image. Docker, podman and skopeo can read the tar file. The same program
// always gives the same bytes. The command needs no daemon and no network.
//
//	ociimage -arch ARCH -tag NAME:VERSION -time SECONDS [-health] PROGRAM LICENSE > image.tar
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// The constants are media types of the OCI image specification.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar"
)

const (
	programPath = "usr/bin/srdtun" // the same path for an agent
	licensePath = "usr/share/doc/srdtun/copyright"
	blobs       = "blobs/sha256/"
)

// image holds the contents of the tar file.
type image struct {
	arch, tag        string
	made             time.Time
	health           bool
	program, license []byte
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

// saved is an entry of manifest.json in the tar file. "docker load" finds the other files of the
// image through manifest.json.
type saved struct {
	Config   string
	RepoTags []string
	Layers   []string
}

type healthcheck struct {
	Test                           []string
	Interval, Timeout, StartPeriod time.Duration
}

type runConfig struct {
	Entrypoint  []string
	Cmd         []string
	Healthcheck *healthcheck `json:",omitempty"` // a Docker extension of the specification
}

type imageConfig struct {
	Created      string    `json:"created"`
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Config       runConfig `json:"config"`
	RootFS       rootFS    `json:"rootfs"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

func main() {
	var i image
	flag.StringVar(&i.arch, "arch", "", "architecture, as Go names it")
	flag.StringVar(&i.tag, "tag", "", "name and version of the image")
	seconds := flag.Int64("time", 0, "when it was made, in seconds since 1970")
	flag.BoolVar(&i.health, "health", false, "with a health check")
	flag.Parse()
	if flag.NArg() != 2 || i.arch == "" || i.tag == "" {
		fmt.Fprintln(os.Stderr, "usage: ociimage -arch ARCH -tag NAME:VERSION -time SECONDS [-health] PROGRAM LICENSE")
		os.Exit(2)
	}
	i.made = time.Unix(*seconds, 0).UTC()
	if err := run(&i, flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintf(os.Stderr, "ociimage: %v\n", err)
		os.Exit(1)
	}
}

func run(i *image, program, license string) (err error) {
	if i.program, err = os.ReadFile(program); err != nil {
		return err
	}
	if i.license, err = os.ReadFile(license); err != nil {
		return err
	}
	return i.write(os.Stdout)
}

// write writes the tar file of the image.
func (i *image) write(w io.Writer) error {
	layer, err := i.layer()
	if err != nil {
		return err
	}
	config, err := json.Marshal(i.config(layer))
	if err != nil {
		return err
	}
	about, err := json.Marshal(manifest{2, typeManifest, describe(typeConfig, config), []descriptor{describe(typeLayer, layer)}})
	if err != nil {
		return err
	}
	top := describe(typeManifest, about)
	_, version, _ := strings.Cut(i.tag, ":")
	top.Annotations = map[string]string{
		"io.containerd.image.name":          "docker.io/library/" + i.tag,
		"org.opencontainers.image.ref.name": version,
	}
	all, err := json.Marshal(index{2, typeIndex, []descriptor{top}})
	if err != nil {
		return err
	}
	docker, err := json.Marshal([]saved{{blobs + sum(config), []string{i.tag}, []string{blobs + sum(layer)}}})
	if err != nil {
		return err
	}
	t := archive{tar.NewWriter(w), i.made}
	for _, f := range []struct {
		name string
		text []byte
	}{
		{blobs + sum(layer), layer}, {blobs + sum(config), config}, {blobs + sum(about), about},
		{"index.json", all}, {"manifest.json", docker}, {"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)},
	} {
		if err := t.add(f.name, 0o644, f.text); err != nil {
			return err
		}
	}
	return t.Close()
}

// layer returns the file system of the image as a tar file. The layer is uncompressed, so its
// bytes depend on no compressor.
func (i *image) layer() ([]byte, error) {
	var b bytes.Buffer
	t := archive{tar.NewWriter(&b), i.made}
	for _, dir := range []string{"usr/", "usr/bin/", "usr/share/", "usr/share/doc/", "usr/share/doc/srdtun/"} {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: i.made}); err != nil {
			return nil, err
		}
	}
	if err := t.add(programPath, 0o755, i.program); err != nil {
		return nil, err
	}
	if err := t.add(licensePath, 0o644, i.license); err != nil {
		return nil, err
	}
	err := t.Close()
	return b.Bytes(), err
}

// config returns the settings for running the image, as in the Dockerfile.
func (i *image) config(layer []byte) imageConfig {
	c := imageConfig{
		Created: i.made.Format(time.RFC3339), Architecture: i.arch, OS: "linux",
		Config: runConfig{Entrypoint: []string{"/" + programPath}, Cmd: []string{"--help"}},
		RootFS: rootFS{"layers", []string{"sha256:" + sum(layer)}},
	}
	if i.health {
		c.Config.Healthcheck = &healthcheck{[]string{"CMD", "/" + programPath, "show", "--check"}, 30 * time.Second, 5 * time.Second, 15 * time.Second}
	}
	return c
}

// archive is a tar file in the making. All files in the archive have the same time, and belong to
// root.
type archive struct {
	*tar.Writer
	made time.Time
}

func (a archive) add(name string, mode int64, text []byte) error {
	if err := a.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(text)), ModTime: a.made}); err != nil {
		return err
	}
	_, err := a.Write(text)
	return err
}

func describe(mediaType string, text []byte) descriptor {
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum(text), Size: len(text)}
}

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}
