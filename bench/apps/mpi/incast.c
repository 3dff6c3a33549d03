/*
 * incast PAUSE_MS SIZE ROUNDS [SIZE ROUNDS ..]: all ranks send to rank 0 at once, again
 * and again. Rank 0 says "go" to all, takes a message of SIZE bytes from each, and writes
 * when each was whole, in us since the first "go":
 *
 *     begin SIZE ROUND 0 0
 *     flow SIZE ROUND RANK US
 *     idle SIZE ROUND TICKS OF    (of all processors, during the round)
 *
 * No call of it waits inside MPI, where Open MPI spins: 49 ranks that spin on two
 * processors measure the scheduler. It tests and sleeps in turn instead, as programs do
 * that have other work.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

enum {
	/* What is taken a sleep later is 2.5 KB at 100 Mbit/s. */
	RECEIVER_NS = 200 * 1000,
	/*
	 * A socket holds more than its 48th part of 100 Mbit/s sends meanwhile. "Go" is seen
	 * up to so late: 4 % of what a round of 64 KB takes.
	 */
	SENDER_NS = 10 * 1000 * 1000,
	GO = 1,
	DATA = 2,
};

static void nap(long ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};
	nanosleep(&t, NULL);
}

static void complete(MPI_Request *r, long ns)
{
	int done = 0;
	for (MPI_Test(r, &done, MPI_STATUS_IGNORE); !done; MPI_Test(r, &done, MPI_STATUS_IGNORE))
		nap(ns);
}

/* The idle time of all processors and all their time, proc_stat(5). */
static void processors(long long *idle, long long *all)
{
	long long v[8] = {0};
	FILE *f = fopen("/proc/stat", "r");
	*idle = *all = 0;
	if (f == NULL)
		return;
	if (fscanf(f, "cpu %lld %lld %lld %lld %lld %lld %lld %lld", v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7) == 8) {
		*idle = v[3] + v[4];
		for (int i = 0; i < 8; i++)
			*all += v[i];
	}
	fclose(f);
}

static void receive(int size, int round, int ranks, char **data)
{
	static char go;
	int n = ranks - 1, left = n, some, ended[n];
	double at[n];
	MPI_Request in[n], out[n];
	long long idle, all, idle_end, all_end;

	for (int i = 0; i < n; i++)
		MPI_Irecv(data[i], size, MPI_BYTE, i + 1, DATA, MPI_COMM_WORLD, &in[i]);
	printf("begin %d %d 0 0\n", size, round);
	fflush(stdout);
	processors(&idle, &all);
	double began = MPI_Wtime();
	for (int i = 0; i < n; i++)
		MPI_Isend(&go, 1, MPI_BYTE, i + 1, GO, MPI_COMM_WORLD, &out[i]);
	while (left > 0) {
		MPI_Testsome(n, in, &some, ended, MPI_STATUSES_IGNORE);
		double now = MPI_Wtime();
		for (int i = 0; i < some; i++)
			at[ended[i]] = now - began;
		left -= some;
		if (some == 0)
			nap(RECEIVER_NS);
	}
	processors(&idle_end, &all_end);
	for (int i = 0; i < n; i++) {
		complete(&out[i], RECEIVER_NS);
		printf("flow %d %d %d %.0f\n", size, round, i + 1, at[i] * 1e6);
	}
	printf("idle %d %d %lld %lld\n", size, round, idle_end - idle, all_end - all);
	fflush(stdout);
}

static void wait_for_go(void)
{
	char go;
	MPI_Request r;

	MPI_Irecv(&go, 1, MPI_BYTE, 0, GO, MPI_COMM_WORLD, &r);
	complete(&r, SENDER_NS);
}

static void send(int size, char *data)
{
	MPI_Request r;

	wait_for_go();
	MPI_Isend(data, size, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, &r);
	complete(&r, SENDER_NS);
}

int main(int argc, char **argv)
{
	int rank, ranks, most = 0;

	if (argc < 4 || argc % 2 != 0)
		return 2;
	/* A nap takes as long as it says: 50 us are added otherwise. */
	prctl(PR_SET_TIMERSLACK, 1000);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 2; i < argc; i += 2)
		if (atoi(argv[i]) > most)
			most = atoi(argv[i]);
	char *data[ranks];
	for (int i = 0; i < (rank == 0 ? ranks - 1 : 1); i++)
		if ((data[i] = calloc(1, most)) == NULL)
			MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 2; i < argc; i += 2)
		for (int round = 0; round < atoi(argv[i + 1]); round++) {
			if (rank == 0) {
				nap(atol(argv[1]) * 1000000);
				receive(atoi(argv[i]), round, ranks, data);
			} else {
				send(atoi(argv[i]), data[0]);
			}
		}
	/*
	 * MPI_Finalize spins. A send has ended when MPI has a copy, so a rank that went there
	 * at once would spin while the last round is under way.
	 */
	if (rank == 0) {
		char go = 0;
		for (int i = 1; i < ranks; i++) {
			MPI_Request r;
			MPI_Isend(&go, 1, MPI_BYTE, i, GO, MPI_COMM_WORLD, &r);
			complete(&r, RECEIVER_NS);
		}
	} else {
		wait_for_go();
	}
	MPI_Finalize();
	return 0;
}
