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

// login has one token of etcd's for all requests. The client's own way is to log in for each
// stream, and again for each that breaks: a password costs etcd a tenth of a second of a
// processor each time, and a fleet that finds etcd back at once would keep it busy with that.
type login struct {
	client         *clientv3.Client
	user, password string // "": etcd asks for none, or goes by certificates

	mu    sync.Mutex // held while logging in: others wait for the token
	token string
}

// with returns ctx with the token, which it may have to ask for.
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

// look forgets the token if err says that it is not good any more: etcd keeps tokens in
// memory, so a restart ends them all.
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

// forget drops the token that ctx has, unless there is another one already.
func (l *login) forget(ctx context.Context) {
	md, _ := metadata.FromOutgoingContext(ctx)
	used := md.Get(rpctypes.TokenFieldNameGRPC)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(used) == 0 || used[len(used)-1] == l.token {
		l.token = ""
	}
}
