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

// login shares one etcd token among all requests. By itself, the client library would log in for
// each new stream. Each login by password costs etcd 0.1 s of processor time, so if all members of
// a fleet reconnected at the same time, their logins would keep etcd busy.
type login struct {
	client         *clientv3.Client
	user, password string // "": etcd needs no password, or uses certificates

	mu    sync.Mutex // locked during a login, so that other requests wait for the token
	token string
}

// with returns ctx with a token, and logs in first if the client has no token.
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

// look drops the token if err means that the token is invalid. etcd keeps tokens in memory, so a
// restart of etcd invalidates all of them.
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

// forget drops the token in ctx, unless the client already has a newer token.
func (l *login) forget(ctx context.Context) {
	md, _ := metadata.FromOutgoingContext(ctx)
	used := md.Get(rpctypes.TokenFieldNameGRPC)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(used) == 0 || used[len(used)-1] == l.token {
		l.token = ""
	}
}
