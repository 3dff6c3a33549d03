package etcd

import (
	"context"
	"errors"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
)

// login shares one etcd token among all requests. The client itself would log in for each
// stream, and again for each broken one. A password costs etcd a tenth of a second of a
// processor each time. A fleet whose members all reconnect at once would keep etcd busy with
// logins.
type login struct {
	client         *clientv3.Client
	user, password string // "": etcd asks for none, or goes by certificates

	mu    sync.Mutex // held while logging in: others wait for the token
	token string
}

// with returns ctx with the token, and asks for a token if there is none.
func (l *login) with(ctx context.Context) (context.Context, error) {
	if l.user == "" {
		return ctx, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token == "" {
		ask, cancel := context.WithTimeout(ctx, askFor)
		defer cancel()
		got, err := l.client.Authenticate(ask, l.user, l.password)
		if errors.Is(err, rpctypes.ErrAuthNotEnabled) {
			return ctx, nil
		}
		if err != nil {
			return ctx, err
		}
		l.token = got.Token
	}
	return metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, l.token), nil
}

// look forgets the token if err says that it is no longer valid. In etcd tokens are in memory,
// so a restart ends them all.
func (l *login) look(ctx context.Context, err error) {
	if err == nil || l.user == "" {
		return
	}
	text := err.Error()
	for _, e := range []error{rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision, rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty} {
		if strings.Contains(text, rpctypes.ErrorDesc(e)) {
			l.forget(ctx)
			return
		}
	}
}

// forget drops the token of ctx, unless a newer one is there.
func (l *login) forget(ctx context.Context) {
	md, _ := metadata.FromOutgoingContext(ctx)
	used := md.Get(rpctypes.TokenFieldNameGRPC)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(used) == 0 || used[len(used)-1] == l.token {
		l.token = ""
	}
}
