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

// login shares one etcd token among all requests. The client library itself would log in for
// each stream, and again for each broken stream. Each login by password costs etcd a tenth of
// a second of processor time. A fleet whose members all reconnect at once would keep etcd busy
// with logins.
type login struct {
	client         *clientv3.Client
	user, password string // "": etcd asks for none, or goes by certificates

	mu    sync.Mutex // held while logging in: others wait for the token
	token string
}

// with returns ctx with the token, and gets a token first if there is none.
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

// look drops the token if err means that it is no longer valid. etcd keeps tokens in memory,
// so a restart of etcd invalidates all of them.
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

// forget drops the token in ctx, unless there is a newer one.
func (l *login) forget(ctx context.Context) {
	md, _ := metadata.FromOutgoingContext(ctx)
	used := md.Get(rpctypes.TokenFieldNameGRPC)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(used) == 0 || used[len(used)-1] == l.token {
		l.token = ""
	}
}
