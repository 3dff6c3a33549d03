package budget

import "testing"

// A single user may have the whole budget. More users have smaller shares, but never less
// than the bound of a queue without a share.
func TestSharesShrinkWithUsers(t *testing.T) {
	const most = 31 << 20
	b := New(Most)
	users := make([]User, 4096)
	for i := range users {
		users[i] = b.User()
	}
	for _, n := range []int{1, 8, 9, 64, 4096} {
		for i := range n {
			users[i].Hold(Little+1, most)
		}
		want := min(most, max(Most/n, Little))
		sum := 0
		for i := range n {
			share := users[i].Hold(Little+1, most)
			if share != want {
				t.Fatalf("%d users: a share of %d, want %d", n, share, want)
			}
			sum += share
		}
		if sum > Most {
			t.Errorf("%d users have %d bytes together", n, sum)
		}
	}
	for i := range users {
		users[i].Hold(0, most)
	}
	if b.Users() != 0 {
		t.Errorf("%d users are left", b.Users())
	}
	if got := users[0].Hold(Little+1, most); got != most {
		t.Errorf("one alone may have %d", got)
	}
}

// A user of the budget remains one until it holds no bytes, so the shares of the other users stay
// constant.
func TestUsersDoNotComeAndGo(t *testing.T) {
	b := New(Most)
	u := b.User()
	for _, c := range []struct{ bytes, users int }{{Little, 0}, {Little + 1, 1}, {1, 1}, {Little + 1, 1}, {0, 0}, {Little, 0}} {
		u.Hold(c.bytes, Most)
		if b.Users() != c.users {
			t.Errorf("%d bytes: %d users, want %d", c.bytes, b.Users(), c.users)
		}
	}
}

// Without a budget each queue has only its own bound.
func TestNoBudgetBoundsNothing(t *testing.T) {
	for _, b := range []*Budget{nil, {}} {
		u := b.User()
		if got := u.Hold(1<<30, 7); got != 7 {
			t.Errorf("%d", got)
		}
	}
	if Of(64<<20) != 16<<20 || Of(1<<60) != Most {
		t.Errorf("%d of 64 MiB, %d of all", Of(64<<20), Of(1<<60))
	}
}

// Freed reports the memory of a user once, after the user has released it.
func TestFreedIsToldOnce(t *testing.T) {
	b := New(Most)
	u := b.User()
	for _, n := range []int{Little + 1, 5 << 20, 1 << 20} {
		u.Hold(n, Most)
	}
	if n := b.Freed(); n != 0 {
		t.Errorf("%d bytes are free while they are held", n)
	}
	u.Hold(0, Most)
	if n := b.Freed(); n != 5<<20 {
		t.Errorf("%d bytes", n)
	}
	if n := b.Freed(); n != 0 {
		t.Errorf("%d bytes again", n)
	}
}

// Memory that a flow takes and frees with each burst is no reason to collect garbage.
func TestBurstsFreeNothing(t *testing.T) {
	b := New(64 << 20)
	u := b.User()
	for range 1000 {
		u.Hold(2<<20, 1<<30)
		u.Hold(0, 1<<30)
	}
	if n := b.Freed(); n != 0 {
		t.Errorf("%d bytes", n)
	}
}

// In a small control group the bounds Little and Much are fractions of the budget. Hundreds of
// peers that hold Little bytes each stay within the budget. If a peer releases much of the budget,
// a garbage collection is worth its cost.
func TestBoundsFollowTheLimit(t *testing.T) {
	for limit, want := range map[int64]struct{ little, much int }{
		8 << 20: {leastLittle, 512 << 10}, 32 << 20: {16 << 10, 2 << 20}, 64 << 20: {32 << 10, Much}, 128 << 20: {64 << 10, Much}, 1 << 30: {Little, Much}, 8 << 30: {Little, Much},
	} {
		b := New(Of(limit))
		users := make([]User, littlePart)
		held := 0
		for i := range users {
			users[i] = b.User()
			users[i].Hold(want.little, Most)
			if held += want.little; b.Users() != 0 {
				t.Fatalf("%d MiB: %d bytes make a user", limit>>20, want.little)
			}
		}
		if want.little > leastLittle && held > b.Bytes() {
			t.Errorf("%d MiB: %d bytes are held, of %d", limit>>20, held, b.Bytes())
		}
		users[0].Hold(want.little+1, Most)
		if b.Users() != 1 {
			t.Errorf("%d MiB: %d bytes make no user", limit>>20, want.little+1)
		}
		users[0].Hold(0, Most)
		users[0].Hold(want.much, Most)
		users[0].Hold(0, Most)
		if n := b.Freed(); n != want.much {
			t.Errorf("%d MiB: %d bytes are freed, want %d", limit>>20, n, want.much)
		}
	}
}
