/*
 * An initiator, a responder that is not under load, and an attacker who sees every
 * initiation and sends false cookies, from any address, before the response is there. An
 * attempt lives for a round trip at least, and a few packets are lost. There must be a
 * session in the end.
 *
 * BUG_ABANDON: a cookie ends the attempt under way, and the next one goes to where the
 * cookie came from.
 */
#define HON  1   /* the responder's address, which the initiator calls */
#define EVIL 2

bit alive[2];    /* a regular attempt, and one hurried by a cookie */
byte to[2];      /* where it was sent */
bit answered[2]; /* a response is on its way */
bit hurried;     /* the regular attempt has had its hurried one */
byte cookie;     /* where the cookie that is stored came from; 0: none */
byte lost;       /* packets lost so far, at most 3 */
bit session;

/* Its own time is over: no response to it is on its way, nor can one be any more. */
#define OVER(i) (alive[i] && !answered[i] && to[i] != HON)

active proctype timer()
{
	do
	:: atomic { !session && !alive[0] -> alive[0] = 1; to[0] = HON; answered[0] = 0; hurried = 0 }
	:: atomic { OVER(0) -> alive[0] = 0; to[0] = 0 }
	:: atomic { OVER(1) -> alive[1] = 0; to[1] = 0 }
	:: session -> break
	od
}

active proctype cookies()
{
	do
#ifdef BUG_ABANDON
	:: atomic { !session && cookie != 0 -> alive[0] = 1; to[0] = cookie; answered[0] = 0; cookie = 0 }
#else
	:: atomic { !session && cookie == HON && !hurried -> hurried = 1; alive[1] = 1; to[1] = HON; answered[1] = 0; cookie = 0 }
	:: atomic { !session && (cookie == EVIL || (cookie == HON && hurried)) -> cookie = 0 } /* not from where we called; or one is enough */
#endif
	:: session -> break
	od
}

active proctype network()
{
	byte i;
	do
	:: atomic { !session && alive[0] && to[0] == HON && !answered[0] -> i = 0 } ;
		atomic { if
		:: alive[i] && to[i] == HON -> answered[i] = 1
		:: lost < 3 -> lost++; to[i] = 0
		:: else
		fi }
	:: atomic { !session && alive[1] && to[1] == HON && !answered[1] -> answered[1] = 1 }
	:: atomic { !session && alive[0] && answered[0] ->
		if :: session = 1 :: lost < 3 -> lost++; answered[0] = 0; to[0] = 0 fi }
	:: atomic { !session && alive[1] && answered[1] ->
		if :: session = 1 :: lost < 3 -> lost++; answered[1] = 0; to[1] = 0 fi }
	:: session -> break
	od
}

active proctype attacker()
{
	do
	:: atomic { !session && alive[0] && cookie == 0 -> cookie = EVIL }
	:: atomic { !session && alive[0] && cookie == 0 -> cookie = HON }
	:: session -> break
	od
}

ltl progress { <> session }
