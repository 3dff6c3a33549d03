/* incast SIZE ROUNDS: all ranks send SIZE bytes to rank 0 at once. For each message
 * rank 0 prints after how many microseconds of its round it had arrived. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, ranks, size, rounds;
	char go = 1;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 3 || (size = atoi(argv[1])) < 1 || (rounds = atoi(argv[2])) < 1) {
		MPI_Abort(MPI_COMM_WORLD, 2);
		return 2;
	}
	char *data = calloc(rank ? 1 : ranks, size);
	MPI_Request *all = calloc(ranks, sizeof *all);
	if (!data || !all)
		MPI_Abort(MPI_COMM_WORLD, 1);
	/* The first round opens connections, and is not told. */
	for (int round = 0; round <= rounds; round++) {
		if (rank == 0)
			for (int i = 1; i < ranks; i++)
				MPI_Irecv(data + (size_t)i * size, size, MPI_CHAR, i, round, MPI_COMM_WORLD, &all[i - 1]);
		/* All are there; then rank 0 looks at its clock and lets them begin. */
		MPI_Barrier(MPI_COMM_WORLD);
		double begun = MPI_Wtime();
		MPI_Bcast(&go, 1, MPI_CHAR, 0, MPI_COMM_WORLD);
		if (rank)
			MPI_Send(data, size, MPI_CHAR, 0, round, MPI_COMM_WORLD);
		for (int i = 1; rank == 0 && i < ranks; i++) {
			int which;
			MPI_Waitany(ranks - 1, all, &which, MPI_STATUS_IGNORE);
			if (round)
				printf("%.0f\n", (MPI_Wtime() - begun) * 1e6);
		}
	}
	MPI_Finalize();
	return 0;
}
