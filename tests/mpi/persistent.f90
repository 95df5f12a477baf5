! SPDX-License-Identifier: BSD-3-Clause
! Persistent collectives from Fortran, started twice with other data. Compiled three times: with mpif.h, with USE_MPI and with
! USE_MPI_F08. Open MPI 4.1 (MPIX) has them as an extension.
#ifdef MPIX
#define MPI_Barrier_init MPIX_Barrier_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Reduce_init MPIX_Reduce_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Reduce_scatter_init MPIX_Reduce_scatter_init
#define MPI_Reduce_scatter_block_init MPIX_Reduce_scatter_block_init
#define MPI_Scan_init MPIX_Scan_init
#define MPI_Exscan_init MPIX_Exscan_init
#define MPI_Gather_init MPIX_Gather_init
#define MPI_Gatherv_init MPIX_Gatherv_init
#define MPI_Scatter_init MPIX_Scatter_init
#define MPI_Scatterv_init MPIX_Scatterv_init
#define MPI_Allgather_init MPIX_Allgather_init
#define MPI_Allgatherv_init MPIX_Allgatherv_init
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Alltoallv_init MPIX_Alltoallv_init
#endif
program persistent
#include "interface.inc"
  integer, parameter :: many = 17
  integer :: rank, ranks, ierror, round, i, sum_of_ranks, base
  integer, asynchronous, dimension(2) :: mine, total, everywhere, in_place, part, share, below, before, got, gotv
  integer, asynchronous, allocatable, dimension(:) :: both, gathered, gatheredv, all_of, all_ofv, turned, turnedv
  integer, volatile :: word
  integer, allocatable, dimension(:) :: twos, places
  REQUEST_HANDLE :: requests(many)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  allocate (both(2 * ranks), gathered(2 * ranks), gatheredv(2 * ranks), all_of(2 * ranks), all_ofv(2 * ranks))
  allocate (turned(2 * ranks), turnedv(2 * ranks))
  twos = [(2, i = 1, ranks)]
  places = [(2 * (i - 1), i = 1, ranks)]
  sum_of_ranks = ranks * (ranks - 1) / 2

  call MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), ierror)
  call MPI_Bcast_init(word, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2), ierror)
  call MPI_Reduce_init(mine, total, 2, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, MPI_INFO_NULL, requests(3), ierror)
  call MPI_Allreduce_init(mine, everywhere, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(4), ierror)
  call MPI_Allreduce_init(MPI_IN_PLACE, in_place, 2, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, requests(5), &
                          ierror)
  call MPI_Reduce_scatter_init(both, part, twos, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(6), ierror)
  call MPI_Reduce_scatter_block_init(both, share, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(7), &
                                     ierror)
  call MPI_Scan_init(mine, below, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(8), ierror)
  call MPI_Exscan_init(mine, before, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(9), ierror)
  call MPI_Gather_init(mine, 2, MPI_INTEGER, gathered, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, requests(10), &
                       ierror)
  call MPI_Gatherv_init(mine, 2, MPI_INTEGER, gatheredv, twos, places, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &
                        requests(11), ierror)
  call MPI_Scatter_init(both, 2, MPI_INTEGER, got, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, requests(12), ierror)
  call MPI_Scatterv_init(both, twos, places, MPI_INTEGER, gotv, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &
                         requests(13), ierror)
  call MPI_Allgather_init(mine, 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, requests(14), ierror)
  call MPI_Allgatherv_init(mine, 2, MPI_INTEGER, all_ofv, twos, places, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, &
                           requests(15), ierror)
  call MPI_Alltoall_init(both, 2, MPI_INTEGER, turned, 2, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, requests(16), ierror)
  call MPI_Alltoallv_init(both, twos, places, MPI_INTEGER, turnedv, twos, places, MPI_INTEGER, MPI_COMM_WORLD, &
                          MPI_INFO_NULL, requests(17), ierror)

  do round = 1, 3
    base = 100 * round
    mine = [base + rank, base + rank + 1]
    in_place = mine
    both = [(1000 * rank + base + i, i = 1, 2 * ranks)]
    word = merge(base, -1, rank == ranks - 1)
    total = -1
    everywhere = -1
    if (round == 2) then
      do i = 1, many
        call MPI_Start(requests(i), ierror)
      end do
    else
      call MPI_Startall(many, requests, ierror)
    end if
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
    call MPI_Waitall(many, requests, MPI_STATUSES_IGNORE, ierror)
    call check(ierror == MPI_SUCCESS, 'MPI_Waitall')
    call check(word == base, 'bcast')
    call check(rank /= 0 .or. all(total == [sum_of_ranks + ranks * base, sum_of_ranks + ranks * (base + 1)]), 'reduce')
    call check(all(everywhere == [sum_of_ranks + ranks * base, sum_of_ranks + ranks * (base + 1)]), 'allreduce')
    call check(all(in_place == [base + ranks - 1, base + ranks]), 'allreduce in place')
    call check(all(part == [(1000 * sum_of_ranks + ranks * (base + 2 * rank + i), i = 1, 2)]), 'reduce_scatter')
    call check(all(share == part), 'reduce_scatter_block')
    call check(below(1) == rank * (rank + 1) / 2 + (rank + 1) * base, 'scan')
    call check(rank == 0 .or. all(before == below - mine), 'exscan')
    call check(rank /= 0 .or. all(gathered == [(base + (i + 1) / 2 - mod(i, 2), i = 1, 2 * ranks)]), 'gather')
    call check(rank /= 0 .or. all(gatheredv == gathered), 'gatherv')
    call check(all(got == [(base + 2 * rank + i, i = 1, 2)]) .and. all(gotv == got), 'scatter and scatterv')
    call check(all(all_of == [(base + (i + 1) / 2 - mod(i, 2), i = 1, 2 * ranks)]), 'allgather')
    call check(all(all_ofv == all_of), 'allgatherv')
    call check(all(turned == [(1000 * ((i - 1) / 2) + base + 2 * rank + 2 - mod(i, 2), i = 1, 2 * ranks)]), 'alltoall')
    call check(all(turnedv == turned), 'alltoallv')
  end do
  do i = 1, many
    call MPI_Request_free(requests(i), ierror)
    call check(requests(i) == MPI_REQUEST_NULL, 'MPI_Request_free')
  end do
  call MPI_Finalize(ierror)
  if (rank == 0) print '(a)', 'passed'

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (right) return
    write (0, *) 'rank ', rank, ' of ', ranks, ', round ', round, ': ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine
end program
