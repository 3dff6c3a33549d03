/*
 * The handshake with what srdtun adds to WireGuard's: copies to several addresses,
 * incarnations, tokens, two attempts alive at once, crossing initiations, restarts.
 * Cryptography is ideal: nobody makes a message under keys he does not have.
 *
 * The network belongs to the attacker: a message that was sent may be delivered at any
 * time, any number of times, in any order, or never, and handshake packets and data from
 * the peer's address (HON) or from one of the attacker's choice (EVIL).
 *
 *	MUTE      what is sent to EVIL reaches nobody: a victim whose address is forged
 *	RESTARTS  how often a party may be started again; RESTARTS1: the second one
 *	ATT       attempts of a party; ATT0, ATT1: of the one and the other
 *	QUIET     in the end all is delivered, the newest attempt lives on, and both have agreed
 *	BUG_...   a bug that must be found
 */
#ifndef ATT
#define ATT 2
#endif
#ifndef ATT0
#define ATT0 ATT
#endif
#ifndef ATT1
#define ATT1 ATT
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif

#ifndef RESTARTS1
#define RESTARTS1 RESTARTS
#endif

#define INCS  (RESTARTS + 1)
#define HON   1
#define EVIL  2

/* Parties 0 and 1; that of the smaller public key is 0. Attempt a of party p. */
#define AT(p, a)       ((p) * ATT + (a))
/* The keys of attempt a of p, answered by incarnation r of the other. 0: none. */
#define KEY(p, a, r)   (AT(p, a) * INCS + (r) + 1)
#define OWNER(k)       (((k) - 1) / INCS / ATT)
#define ATTEMPT(k)     (((k) - 1) / INCS % ATT)
#define ANSWERED(k)    (((k) - 1) % INCS)
#define MAKER(k)       attinc[AT(OWNER(k), ATTEMPT(k))]
#define NKEYS          (2 * ATT * INCS + 1)

byte inc[2];              /* incarnation, in the order of starts */
byte begun[2];            /* attempts so far; the number is also the timestamp */
byte att[2 * ATT];        /* 0 not begun, 1 alive, 2 over */
byte attinc[2 * ATT];     /* who made it */
byte token[2 * ATT];      /* it bears a token of this incarnation of the other, plus one; 0: a timestamp */
bit  used[2 * ATT];       /* its token was taken */
byte granted[2];          /* the newest cookie a party has: incarnation of who gave it, plus one */
byte made[2 * ATT];       /* sessions its initiator made of it */

byte send[2], next[2];    /* keys in use; keys as responder that the initiator has not used */
byte other[2];            /* and those made before next, not used either */
bit  ours[2];             /* send was begun by us */
bit  heard[2];            /* and the peer has used it */
bit  newer[2], newerOther[2];     /* send is newer than next, other */
bit  crossed[2], crossedOther[2]; /* next, other met our own on the way */
bit  met[2];
byte known[2];            /* the peer's incarnation */
byte newest[2];           /* timestamps below were taken */
byte last[2];             /* keys of the newest initiation answered */
byte on[2];               /* where its response went: HON, EVIL or both */

bit  reached[NKEYS];      /* the response is on its way to the initiator */
bit  epoch[NKEYS];        /* a responder has made these keys */
bit  had[NKEYS];          /* the initiator has them */
bit  there[NKEYS];        /* a packet under them, to the responder */
bit  back[NKEYS];         /* … and to the initiator */
bit  stopped;             /* QUIET: nothing new is begun */
bit  dInit[2 * ATT], dResp[NKEYS], dThere[NKEYS], dBack[NKEYS]; /* delivered at least once */

#define PEER(p) (1 - (p))

inline over(who)
{
	i = 0;
	do
	:: i < ATT -> if :: att[AT(who, i)] == 1 -> att[AT(who, i)] = 2 :: else fi; i++
	:: else -> break
	od;
	i = 0
}

/* The peer has just proven its incarnation. What the former left is cleared. */
inline meet(me, which, key)
{
	assert(epoch[key] && had[key]);                 /* both ends have the keys: it is confirmed */
	assert(!met[me] || which >= known[me]);           /* a former process never comes back */
	if :: met[me] && known[me] != which -> send[me] = 0 :: else fi;
#ifdef BUG_FIRST
	if
	:: met[me] && known[me] != which ->
#endif
	if :: next[me] != 0 && MAKER(next[me]) != which -> next[me] = 0 :: else fi;
	if :: other[me] != 0 && MAKER(other[me]) != which -> other[me] = 0 :: else fi
#ifdef BUG_FIRST
	:: else
	fi
#endif
	;
	met[me] = 1; known[me] = which
}

/* begin: k is what packets are sealed with from now on. */
inline begin(us, key, byUs)
{
	printf("%d uses keys %d\n", us, key);
	send[us] = key; ours[us] = byUs; heard[us] = 0;
	newer[us] = (next[us] != 0); newerOther[us] = (other[us] != 0)
}

inline call(caller)
{
	d_step {
		/* at most two are alive: only the newest of those before lives on */
		i = 0;
		do
		:: i + 1 < begun[caller] -> if :: att[AT(caller, i)] == 1 -> att[AT(caller, i)] = 2 :: else fi; i++
		:: else -> break
		od;
		i = 0;
		printf("%d calls: attempt %d of incarnation %d\n", caller, begun[caller], inc[caller]);
		att[AT(caller, begun[caller])] = 1;
		attinc[AT(caller, begun[caller])] = inc[caller];
		token[AT(caller, begun[caller])] = granted[caller];
		granted[caller] = 0;
		/* Who has a session calls again after 500 ms of silence or 120 s. By then the other
		   has heard of it, or does not take a call for a crossing one any more. */
		if :: send[caller] != 0 && send[caller] == send[PEER(caller)] -> heard[PEER(caller)] = 1 :: else fi;
		begun[caller]++
	}
}

/* Attempt a of q arrives at p from src. */
inline initiation(to, frm, nth, src)
{
	d_step {
		k = KEY(frm, nth, inc[to]);
		if
		:: last[to] == k ->                        /* nth copy: the same response */
			on[to] = on[to] | src;
#ifdef MUTE
			if :: src == HON -> reached[k] = 1 :: else fi
#else
			reached[k] = 1
#endif
		:: last[to] != k && ((token[AT(frm, nth)] == 0 && nth + 1 > newest[to]) ||
		                    (token[AT(frm, nth)] == inc[to] + 1 && !used[AT(frm, nth)])) ->
			if
			:: token[AT(frm, nth)] == 0 -> newest[to] = nth + 1
			:: else -> used[AT(frm, nth)] = 1
			fi;
			assert(!epoch[k]);                /* one attempt, one session at the responder */
			epoch[k] = 1;
			printf("%d answers attempt %d of %d, which came from %d: keys %d\n", to, nth, frm, src, k);
#ifndef BUG_FORGET
			other[to] = next[to]; crossedOther[to] = crossed[to]; newerOther[to] = newer[to];
#endif
			next[to] = k; last[to] = k; on[to] = src;
			crossed[to] = (send[to] != 0 && ours[to] && !heard[to]);
			newer[to] = 0;
#ifdef MUTE
			if :: src == HON -> reached[k] = 1 :: else fi;
#else
			reached[k] = 1;
#endif
#ifdef BUG_BELIEVE
			meet(to, attinc[AT(frm, nth)], k);
#endif
		:: else ->                                /* stale: nth cookie, which is stored and no more */
			if :: src == HON && inc[frm] == attinc[AT(frm, nth)] && att[AT(frm, nth)] == 1 -> granted[frm] = inc[to] + 1 :: else fi
		fi;
		if :: src == HON -> dInit[AT(frm, nth)] = 1 :: else fi;
		k = 0
	}
}

/* The response that made keys x arrives at its initiator p. */
inline response(to, under)
{
	d_step {
		if
		:: att[AT(to, ATTEMPT(under))] == 1 && attinc[AT(to, ATTEMPT(under))] == inc[to] ->
			made[AT(to, ATTEMPT(under))]++;
			assert(made[AT(to, ATTEMPT(under))] == 1);  /* one attempt, one session at the initiator */
			had[under] = 1;
			printf("%d takes the response, keys %d\n", to, under);
#ifndef BUG_TWICE
			over(to);
#endif
			meet(to, ANSWERED(under), under);
			begin(to, under, 1);
			there[under] = 1                          /* the proof that we have the keys */
		:: else
		fi;
		dResp[under] = 1
	}
}

/* A packet under keys x arrives at their responder p from src. */
inline atResponder(to, under, src)
{
	d_step {
		if
		:: next[to] == under || other[to] == under ->
			/* Those answered before were given up by the initiator when it took this one. */
			if
			:: other[to] == under -> i = newerOther[to]; k = crossedOther[to]
#ifdef BUG_RETIRE
				; next[to] = 0
#endif
			:: else -> i = newer[to]; k = crossed[to]; next[to] = 0
			fi;
			other[to] = 0;
			printf("%d has a packet under keys %d from %d\n", to, under, src);
			meet(to, attinc[AT(OWNER(under), ATTEMPT(under))], under);
			if
#ifdef BUG_CROSS
			:: false ->
#else
			:: send[to] != 0 && ours[to] && (i || k) && to == 0 ->
#endif
				skip                              /* both keep that of the smaller key */
			:: else ->
				begin(to, under, 0)
			fi;
			i = 0; k = 0;
			over(to);
			/* Is src proven? Only if the response went there alone. Data follows at once. */
			if
#ifdef BUG_COPY
			:: last[to] == under && (on[to] & src) ->
#else
#ifdef BUG_LAST
			:: on[to] == src ->                       /* where another response went */
#else
			:: last[to] == under && on[to] == src ->
#endif
#endif
#ifdef MUTE
				assert(src != EVIL)
#else
				skip
#endif
			:: else
			fi
		:: else -> if :: send[to] == under -> heard[to] = 1 :: else fi
		fi;
		dThere[under] = 1
	}
}

/* … and at their initiator. */
inline atInitiator(to, under)
{
	d_step {
		if :: send[to] == under -> heard[to] = 1 :: else fi;
		dBack[under] = 1
	}
}

inline restart(to)
{
	d_step {
		over(to);
		inc[to]++;
		printf("%d starts again\n", to);
		send[to] = 0; next[to] = 0; other[to] = 0; ours[to] = 0; heard[to] = 0; newer[to] = 0; crossed[to] = 0; newerOther[to] = 0; crossedOther[to] = 0;
		met[to] = 0; known[to] = 0; newest[to] = 0; last[to] = 0; on[to] = 0; granted[to] = 0
	}
}

/* A packet under the keys in use: under next nothing is sent. */
inline packet(to)
{
	d_step {
		assert(send[to] != next[to]);
		if
		:: OWNER(send[to]) == to -> there[send[to]] = 1
		:: else -> back[send[to]] = 1
		fi
	}
}

#ifdef QUIET
/* Who has a session calls so late that its proof has arrived. */
#define LATE(p) (send[p] == 0 || OWNER(send[p]) != p || dThere[send[p]])
#else
#define LATE(p) true
#endif
#define USED(p) (send[p] == 0 || (OWNER(send[p]) == p && there[send[p]]) || (OWNER(send[p]) != p && back[send[p]]))

init {
	byte p, a, k, i, x;
	do
	:: atomic { !stopped ->
		select(p : 0 .. 1);
		if
		:: begun[p] < (p == 0 -> ATT0 : ATT1) && LATE(p) -> call(p)
		:: inc[p] < (p == 0 -> RESTARTS : RESTARTS1) -> restart(p)
		:: send[p] != 0 -> packet(p)
#ifdef QUIET
		:: stopped = 1; printf("the end begins\n")
#endif
		:: else
		fi; p = 0 }
	:: atomic { select(p : 0 .. 1); select(a : 0 .. ATT - 1);
		if
		:: a < begun[p] && !(stopped && dInit[AT(p, a)]) -> initiation(PEER(p), p, a, HON)
#ifndef QUIET
		:: a < begun[p] -> initiation(PEER(p), p, a, EVIL)
#endif
#ifndef QUIET
		:: att[AT(p, a)] == 1 -> att[AT(p, a)] = 2     /* its time is over, though a response may be on its way */
#endif
		:: else
		fi; p = 0; a = 0 }
	:: atomic { select(x : 1 .. NKEYS - 1);
		if
		:: reached[x] && !(stopped && dResp[x]) -> response(OWNER(x), x)
		:: there[x] && !(stopped && dThere[x]) -> atResponder(PEER(OWNER(x)), x, HON)
#ifdef MUTE
		:: there[x] -> atResponder(PEER(OWNER(x)), x, EVIL)
#endif
		:: back[x] && !(stopped && dBack[x]) -> atInitiator(OWNER(x), x)
		:: else
		fi; x = 0 }
#ifdef QUIET
	:: atomic { stopped ->
		/* each end uses its keys; then, when everything has arrived, both have the same */
		if :: !USED(0) -> packet(0) :: !USED(1) -> packet(1) :: else fi;
		a = 1; i = 0;
		do
		:: i < 2 * ATT -> if :: att[i] != 0 && !dInit[i] -> a = 0 :: else fi; i++
		:: else -> break
		od;
		x = 1;
		do
		:: x < NKEYS -> if :: (reached[x] && !dResp[x]) || (there[x] && !dThere[x]) || (back[x] && !dBack[x]) -> a = 0 :: else fi; x++
		:: else -> break
		od;
		i = 0; x = 0;
		if
		:: a == 1 && USED(0) && USED(1) -> assert(send[0] == send[1]); break
		:: else
		fi; a = 0 }
#endif
	od
}
