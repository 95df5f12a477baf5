! SPDX-License-Identifier: BSD-3-Clause
! The collectives from Fortran. Compiled three times: with mpif.h, with USE_MPI and with USE_MPI_F08. Every call has
! something to do, so the shim takes them all. Why this file is long: it has every collective, for three interfaces.
module checks
  use iso_c_binding, only: c_ptr, c_f_pointer
#include "interface.inc"
  integer :: rank, ranks, ierror

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (right) return
    write (0, *) 'rank ', rank, ' of ', ranks, ': ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine

  subroutine check_bcast(comm)
    COMM_HANDLE, intent(in) :: comm
    integer, parameter :: many = 50000
    integer :: root, i
    integer, allocatable :: numbers(:)
    double precision :: matrix(6, 4)
    complex :: z(3)
    character(len=13) :: text
    logical :: flags(5)
    allocate (numbers(many))
    do root = 0, ranks - 1
      numbers = -1
      if (rank == root) numbers = [(7 * i + root, i = 1, many)]
      call MPI_Bcast(numbers, many, MPI_INTEGER, root, comm, ierror)
      call check(ierror == MPI_SUCCESS .and. all(numbers == [(7 * i + root, i = 1, many)]), 'bcast of integers')
      matrix = 0
      if (rank == root) matrix = root + 0.5d0
      call MPI_Bcast(matrix, 24, MPI_DOUBLE_PRECISION, root, comm, ierror)
      call check(all(matrix == root + 0.5d0), 'bcast of a matrix')
      z = 0
      if (rank == root) z = cmplx(1, root)
      call MPI_Bcast(z, 3, MPI_COMPLEX, root, comm, ierror)
      call check(all(z == cmplx(1, root)), 'bcast of complex')
      text = 'nothing'
      if (rank == root) text = 'thirteen long'
      call MPI_Bcast(text, 13, MPI_CHARACTER, root, comm, ierror)
      call check(text == 'thirteen long', 'bcast of characters')
      flags = .false.
      if (rank == root) flags(2) = .true.
      call MPI_Bcast(flags, 5, MPI_LOGICAL, root, comm, ierror)
      call check(flags(2) .and. .not. any(flags([1, 3, 4, 5])), 'bcast of logicals')
    end do
  end subroutine

  ! mpif.h knows the memory by its address, the others by a pointer of C.
  subroutine check_memory(comm)
    COMM_HANDLE, intent(in) :: comm
    integer, parameter :: many = 50000
    integer, pointer :: numbers(:)
    type(c_ptr) :: base
#if !defined(USE_MPI_F08) && !defined(USE_MPI)
    integer(MPI_ADDRESS_KIND) :: address
    call MPI_Alloc_mem(int(4 * many, MPI_ADDRESS_KIND), MPI_INFO_NULL, address, ierror)
    base = transfer(address, base)
#else
    call MPI_Alloc_mem(int(4 * many, MPI_ADDRESS_KIND), MPI_INFO_NULL, base, ierror)
#endif
    call check(ierror == MPI_SUCCESS, 'memory of MPI')
    call c_f_pointer(base, numbers, [many])
    numbers = rank
    call MPI_Allreduce(MPI_IN_PLACE, numbers, many, MPI_INTEGER, MPI_SUM, comm, ierror)
    call check(all(numbers == ranks * (ranks - 1) / 2), 'allreduce in memory of MPI')
    call MPI_Free_mem(numbers, ierror)
    call check(ierror == MPI_SUCCESS, 'memory of MPI given back')
  end subroutine

  ! A column of a row-major view, a section with a stride, absolute addresses.
  subroutine check_layouts(comm)
    COMM_HANDLE, intent(in) :: comm
    integer :: table(5, 8), i
    integer, asynchronous :: first
    double precision, asynchronous :: second
    TYPE_HANDLE :: row, both
    integer(MPI_ADDRESS_KIND) :: places(2)
    call MPI_Type_vector(8, 1, 5, MPI_INTEGER, row, ierror)
    call MPI_Type_commit(row, ierror)
    table = -1
    if (rank == 0) table(3, :) = [(10 * i, i = 1, 8)]
    call MPI_Bcast(table(3, 1), 1, row, 0, comm, ierror)
    call check(all(table(3, :) == [(10 * i, i = 1, 8)]) .and. all(table([1, 2, 4, 5], :) == -1), 'bcast of a row')
    call MPI_Type_free(row, ierror)
#if defined(USE_MPI_F08)
    table = -1
    if (rank == ranks - 1) table(2:4:2, 1:8:3) = 9
    call MPI_Bcast(table(2:4:2, 1:8:3), 6, MPI_INTEGER, ranks - 1, comm)
    call check(all(table(2:4:2, 1:8:3) == 9) .and. count(table == -1) == 34, 'bcast of a section')
#endif
    first = 0
    second = 0
    if (rank == 0) first = 11
    if (rank == 0) second = 2.5d0
    call MPI_Get_address(first, places(1), ierror)
    call MPI_Get_address(second, places(2), ierror)
    call MPI_Type_create_struct(2, [1, 1], places, [MPI_INTEGER, MPI_DOUBLE_PRECISION], both, ierror)
    call MPI_Type_commit(both, ierror)
    call MPI_Bcast(MPI_BOTTOM, 1, both, 0, comm, ierror)
    call check(first == 11 .and. second == 2.5d0, 'bcast through MPI_BOTTOM')
    call MPI_Type_free(both, ierror)
  end subroutine

  subroutine check_allreduce(comm)
    COMM_HANDLE, intent(in) :: comm
    integer, parameter :: many = 8000
    integer :: i, mine(many), sums(many), pair(2), place(2)
    real :: low, lowest, real_pair(2), real_place(2)
    double precision :: numbers(3), double_pair(2), double_place(2)
    double complex :: z, product
    logical :: flag, all_flags, any_flag, odd_flags
    mine = [(i + rank, i = 1, many)]
    call MPI_Allreduce(mine, sums, many, MPI_INTEGER, MPI_SUM, comm, ierror)
    call check(ierror == MPI_SUCCESS .and. &
               all(sums == [(ranks * i + ranks * (ranks - 1) / 2, i = 1, many)]), 'allreduce of integers')
    call MPI_Allreduce(MPI_IN_PLACE, mine, many, MPI_INTEGER, MPI_SUM, comm, ierror)
    call check(all(mine == sums), 'allreduce in place')
    low = 3.5 - rank
    call MPI_Allreduce(low, lowest, 1, MPI_REAL, MPI_MIN, comm, ierror)
    call check(lowest == 4.5 - ranks, 'least real')
    numbers = [1d0, 2d0, 3d0] * (rank + 1)
    call MPI_Allreduce(MPI_IN_PLACE, numbers, 3, MPI_DOUBLE_PRECISION, MPI_MAX, comm, ierror)
    call check(all(numbers == [1d0, 2d0, 3d0] * ranks), 'largest doubles in place')
    z = (0d0, 1d0)
    call MPI_Allreduce(z, product, 1, MPI_DOUBLE_COMPLEX, MPI_PROD, comm, ierror)
    call check(product == (0d0, 1d0)**ranks, 'complex product')
    flag = rank /= 1
    call MPI_Allreduce(flag, all_flags, 1, MPI_LOGICAL, MPI_LAND, comm, ierror)
    call MPI_Allreduce(flag, any_flag, 1, MPI_LOGICAL, MPI_LOR, comm, ierror)
    call MPI_Allreduce(flag, odd_flags, 1, MPI_LOGICAL, MPI_LXOR, comm, ierror)
    call check((.not. all_flags) .and. any_flag .and. (odd_flags .eqv. mod(ranks, 2) == 0), 'logical and, or, xor')
    pair = [10 - mod(rank, 2), rank]
    call MPI_Allreduce(pair, place, 1, MPI_2INTEGER, MPI_MAXLOC, comm, ierror)
    call check(all(place == [10, 0]), 'place of the largest integer')
    real_pair = [real(mod(rank, 2)), real(rank)]
    call MPI_Allreduce(real_pair, real_place, 1, MPI_2REAL, MPI_MAXLOC, comm, ierror)
    call check(all(real_place == [1., 1.]), 'place of the largest real')
    double_pair = [-dble(rank), dble(rank)]
    call MPI_Allreduce(double_pair, double_place, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, comm, ierror)
    call check(all(double_place == [1d0 - ranks, ranks - 1d0]), 'place of the least double')
  end subroutine

  ! Every non-blocking collective once, all in flight at the same time.
  subroutine check_started(comm)
    COMM_HANDLE, intent(in) :: comm
    REQUEST_HANDLE :: started(17)
    integer :: status, i, sum_of_ranks
    integer :: word, mine(2), total(2), everywhere(2), in_place(2), below(2), before(2), part(2), share(2), got(2), gotv(2)
    integer, allocatable :: both(:), gathered(:), gatheredv(:), all_of(:), all_ofv(:), turned(:), turnedv(:), twos(:), &
                            places(:)
    logical :: done
    allocate (both(2 * ranks), gathered(2 * ranks), gatheredv(2 * ranks), all_of(2 * ranks), all_ofv(2 * ranks), &
              turned(2 * ranks), turnedv(2 * ranks), twos(ranks), places(ranks))
    sum_of_ranks = ranks * (ranks - 1) / 2
    mine = [rank, rank + 1]
    in_place = mine
    both = [(1000 * rank + i, i = 1, 2 * ranks)]
    twos = 2
    places = [(2 * i, i = 0, ranks - 1)]
    word = -1
    if (rank == 0) word = 77
    before = -1
    call MPI_Ibarrier(comm, started(1), ierror)
    call MPI_Ibcast(word, 1, MPI_INTEGER, 0, comm, started(2), ierror)
    call MPI_Ireduce(mine, total, 2, MPI_INTEGER, MPI_SUM, 0, comm, started(3), ierror)
    call MPI_Iallreduce(mine, everywhere, 2, MPI_INTEGER, MPI_SUM, comm, started(4), ierror)
    call MPI_Iallreduce(MPI_IN_PLACE, in_place, 2, MPI_INTEGER, MPI_MAX, comm, started(5), ierror)
    call MPI_Ireduce_scatter(both, part, twos, MPI_INTEGER, MPI_SUM, comm, started(6), ierror)
    call MPI_Ireduce_scatter_block(both, share, 2, MPI_INTEGER, MPI_SUM, comm, started(7), ierror)
    call MPI_Iscan(mine, below, 2, MPI_INTEGER, MPI_SUM, comm, started(8), ierror)
    call MPI_Iexscan(mine, before, 2, MPI_INTEGER, MPI_SUM, comm, started(9), ierror)
    call MPI_Igather(mine, 2, MPI_INTEGER, gathered, 2, MPI_INTEGER, 0, comm, started(10), ierror)
    call MPI_Igatherv(mine, 2, MPI_INTEGER, gatheredv, twos, places, MPI_INTEGER, 0, comm, started(11), ierror)
    call MPI_Iscatter(both, 2, MPI_INTEGER, got, 2, MPI_INTEGER, 0, comm, started(12), ierror)
    call MPI_Iscatterv(both, twos, places, MPI_INTEGER, gotv, 2, MPI_INTEGER, 0, comm, started(13), ierror)
    call MPI_Iallgather(mine, 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, comm, started(14), ierror)
    call MPI_Iallgatherv(mine, 2, MPI_INTEGER, all_ofv, twos, places, MPI_INTEGER, comm, started(15), ierror)
    call MPI_Ialltoall(both, 2, MPI_INTEGER, turned, 2, MPI_INTEGER, comm, started(16), ierror)
    call MPI_Ialltoallv(both, twos, places, MPI_INTEGER, turnedv, twos, places, MPI_INTEGER, comm, started(17), ierror)
    done = .false.
    do while (.not. done)
      call MPI_Test(started(17), done, MPI_STATUS_IGNORE, ierror)
    end do
    call MPI_Wait(started(1), MPI_STATUS_IGNORE, ierror)
    call MPI_Waitall(17, started, MPI_STATUSES_IGNORE, status)
    call check(status == MPI_SUCCESS .and. all(started == MPI_REQUEST_NULL), 'requests that are complete')
    call check(word == 77, 'ibcast')
    call check(rank /= 0 .or. all(total == [sum_of_ranks, sum_of_ranks + ranks]), 'ireduce')
    call check(all(everywhere == [sum_of_ranks, sum_of_ranks + ranks]), 'iallreduce')
    call check(all(in_place == [ranks - 1, ranks]), 'iallreduce in place')
    call check(all(part == [(1000 * sum_of_ranks + ranks * (2 * rank + i), i = 1, 2)]), 'ireduce_scatter')
    call check(all(share == part), 'ireduce_scatter_block')
    call check(all(below == [rank * (rank + 1) / 2, (rank + 1) * (rank + 2) / 2]), 'iscan')
    call check(rank == 0 .or. all(before == below - mine), 'iexscan')
    call check(rank /= 0 .or. all(gathered == [((i + 1) / 2 - mod(i, 2), i = 1, 2 * ranks)]), 'igather')
    call check(rank /= 0 .or. all(gatheredv == gathered), 'igatherv')
    call check(all(got == [(2 * rank + i, i = 1, 2)]) .and. all(gotv == got), 'iscatter and iscatterv')
    call check(all(all_of == [((i + 1) / 2 - mod(i, 2), i = 1, 2 * ranks)]), 'iallgather')
    call check(all(all_ofv == all_of), 'iallgatherv')
    call check(all(turned == [(1000 * ((i - 1) / 2) + 2 * rank + 2 - mod(i, 2), i = 1, 2 * ranks)]), 'ialltoall')
    call check(all(turnedv == turned), 'ialltoallv')
  end subroutine

  ! A ring: what a rank sends up comes from below.
  subroutine check_neighbors(comm)
    COMM_HANDLE, intent(in) :: comm
    COMM_HANDLE :: ring
    TYPE_HANDLE :: types(0:1)
    TYPE_HANDLE, allocatable :: all_types(:)
    REQUEST_HANDLE :: started(6)
    integer(MPI_ADDRESS_KIND) :: places(0:1)
    integer :: below, above, i, mine(2), both(2, 0:1), of_all(2, 0:1), expected(2, 0:1)
    integer :: got(2, 0:1), gotv(2, 0:1), turned(2, 0:1), turnedv(2, 0:1), turnedw(2, 0:1)
    integer, allocatable :: sent(:), all_turned(:), counts(:), displs(:)
    logical :: blocking
    allocate (all_types(ranks), sent(ranks), all_turned(ranks), counts(ranks), displs(ranks))
    below = mod(rank + ranks - 1, ranks)
    above = mod(rank + 1, ranks)
    ! Not a Cartesian one: on that, MPICH 4.0's MPI_NEIGHBOR_ALLTOALLW of mpi_f08 is an error.
    call MPI_Dist_graph_create_adjacent(comm, 2, [below, above], MPI_UNWEIGHTED, 2, [below, above], MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., ring, ierror)
    call MPI_Barrier(ring, ierror)
    mine = [rank, -rank]
    both = reshape([rank, 1, rank, 2], [2, 2])
    of_all = reshape([below, -below, above, -above], [2, 2])
    expected = reshape([below, 2, above, 1], [2, 2])
    types = MPI_INTEGER
    all_types = MPI_INTEGER
    places = [0, 8]
    sent = [(100 * rank + i, i = 0, ranks - 1)]
    counts = 1
    displs = [(4 * i, i = 0, ranks - 1)]
    do i = 1, 2
      blocking = i == 1
      got = -9
      gotv = -9
      turned = -9
      turnedv = -9
      turnedw = -9
      all_turned = -9
      if (blocking) then
        call MPI_Neighbor_allgather(mine, 2, MPI_INTEGER, got, 2, MPI_INTEGER, ring, ierror)
        call MPI_Neighbor_allgatherv(mine, 2, MPI_INTEGER, gotv, [2, 2], [2, 0], MPI_INTEGER, ring, ierror)
        call MPI_Neighbor_alltoall(both, 2, MPI_INTEGER, turned, 2, MPI_INTEGER, ring, ierror)
        call MPI_Neighbor_alltoallv(both, [2, 2], [0, 2], MPI_INTEGER, turnedv, [2, 2], [2, 0], MPI_INTEGER, ring, ierror)
        call MPI_Neighbor_alltoallw(both, [2, 2], places, types, turnedw, [2, 2], places, types, ring, ierror)
        call MPI_Alltoallw(sent, counts, displs, all_types, all_turned, counts, displs, all_types, ring, ierror)
      else
        call MPI_Ineighbor_allgather(mine, 2, MPI_INTEGER, got, 2, MPI_INTEGER, ring, started(1), ierror)
        call MPI_Ineighbor_allgatherv(mine, 2, MPI_INTEGER, gotv, [2, 2], [2, 0], MPI_INTEGER, ring, started(2), ierror)
        call MPI_Ineighbor_alltoall(both, 2, MPI_INTEGER, turned, 2, MPI_INTEGER, ring, started(3), ierror)
        call MPI_Ineighbor_alltoallv(both, [2, 2], [0, 2], MPI_INTEGER, turnedv, [2, 2], [2, 0], MPI_INTEGER, ring, &
                                     started(4), ierror)
        call MPI_Ineighbor_alltoallw(both, [2, 2], places, types, turnedw, [2, 2], places, types, ring, started(5), ierror)
        call MPI_Ialltoallw(sent, counts, displs, all_types, all_turned, counts, displs, all_types, ring, started(6), &
                            ierror)
        call MPI_Waitall(6, started, MPI_STATUSES_IGNORE, ierror)
      end if
      call check(ierror == MPI_SUCCESS .and. all(got == of_all), 'neighbor_allgather')
      call check(all(gotv == of_all(:, [1, 0])), 'neighbor_allgatherv')
      call check(arrived(turned, expected), 'neighbor_alltoall')
      call check(arrived(turnedv, expected(:, [1, 0])), 'neighbor_alltoallv')
      call check(arrived(turnedw, expected), 'neighbor_alltoallw')
      call check(all(all_turned == 25 * displs + rank), 'alltoallw')
    end do
    call MPI_Comm_free(ring, ierror)
  end subroutine

  ! Of two ranks, both edges are between the same ones: which of them meet is the library's choice.
  logical function arrived(got, expected)
    integer, intent(in) :: got(2, 0:1), expected(2, 0:1)
    arrived = all(got == expected) .or. (ranks == 2 .and. all(got == expected(:, [1, 0])))
  end function

  subroutine check_reduce(comm)
    COMM_HANDLE, intent(in) :: comm
    integer :: root
    double precision :: mine(40), sums(40)
    do root = 0, ranks - 1
      mine = rank + 1
      sums = -1
      call MPI_Reduce(mine, sums, 40, MPI_DOUBLE_PRECISION, MPI_SUM, root, comm, ierror)
      call check(rank /= root .or. all(sums == ranks * (ranks + 1) / 2), 'reduce')
      call check(rank == root .or. all(sums == -1), 'reduce wrote elsewhere than at the root')
      if (rank == root) then
        call MPI_Reduce(MPI_IN_PLACE, mine, 40, MPI_DOUBLE_PRECISION, MPI_SUM, root, comm, ierror)
        call check(all(mine == sums), 'reduce in place')
      else
        call MPI_Reduce(mine, sums, 40, MPI_DOUBLE_PRECISION, MPI_SUM, root, comm, ierror)
      end if
    end do
  end subroutine

  ! Block b of what rank r sends holds 1000 r + b.
  subroutine check_blocks(comm)
    COMM_HANDLE, intent(in) :: comm
    integer, parameter :: n = 30
    integer :: root, b, total
    integer :: one(n), all(n, 0:ranks - 1), sent(n, 0:ranks - 1)
    integer :: counts(0:ranks - 1), displs(0:ranks - 1), apart(0:(n + 2)*ranks)
    do b = 0, ranks - 1
      sent(:, b) = 1000 * rank + b
      counts(b) = b + 1
      displs(b) = b * (n + 2) + 1
    end do
    do root = 0, ranks - 1
      all = -1
      call MPI_Gather(sent(:, 0), n, MPI_INTEGER, all, n, MPI_INTEGER, root, comm, ierror)
      do b = 0, ranks - 1
        call check(rank /= root .or. count(all(:, b) == 1000 * b) == n, 'gather')
      end do
      if (rank == root) then
        all(:, root) = -5
        call MPI_Gather(MPI_IN_PLACE, n, MPI_INTEGER, all, n, MPI_INTEGER, root, comm, ierror)
        call check(count(all(:, root) == -5) == n, 'gather in place')
        call MPI_Scatter(sent, n, MPI_INTEGER, MPI_IN_PLACE, n, MPI_INTEGER, root, comm, ierror)
      else
        call MPI_Gather(sent(:, 0), n, MPI_INTEGER, all, n, MPI_INTEGER, root, comm, ierror)
        call MPI_Scatter(sent, n, MPI_INTEGER, one, n, MPI_INTEGER, root, comm, ierror)
        call check(count(one == 1000 * root + rank) == n, 'scatter')
      end if
      apart = -1
      call MPI_Gatherv(sent(:, 0), rank + 1, MPI_INTEGER, apart, counts, displs, MPI_INTEGER, root, comm, ierror)
      call check(rank /= root .or. count(apart == 1000 * (ranks - 1)) == ranks, 'gatherv')
      if (rank == root) apart = 7
      call MPI_Scatterv(apart, counts, displs, MPI_INTEGER, one, rank + 1, MPI_INTEGER, root, comm, ierror)
      call check(count(one(1:rank + 1) == 7) == rank + 1, 'scatterv')
    end do
    call MPI_Allgather(sent(:, 0), n, MPI_INTEGER, all, n, MPI_INTEGER, comm, ierror)
    call check(count(all(:, ranks - 1) == 1000 * (ranks - 1)) == n, 'allgather')
    all = -1
    all(:, rank) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INTEGER, comm, ierror)
    call check(count(all(:, 0) == 0) == n .and. count(all(:, ranks - 1) == ranks - 1) == n, 'allgather in place')
    apart = -1
    call MPI_Allgatherv(sent(:, 0), rank + 1, MPI_INTEGER, apart, counts, displs, MPI_INTEGER, comm, ierror)
    call check(count(apart == 1000 * (ranks - 1)) == ranks .and. apart(0) == -1, 'allgatherv')
    call MPI_Alltoall(sent, n, MPI_INTEGER, all, n, MPI_INTEGER, comm, ierror)
    call check(count(all(:, 0) == rank) == n .and. count(all(:, ranks - 1) == 1000 * (ranks - 1) + rank) == n, 'alltoall')
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sent, n, MPI_INTEGER, comm, ierror)
    call check(count(sent == all) == n * ranks, 'alltoall in place')
    counts = 2
    apart = rank
    call MPI_Alltoallv(sent, counts, [(n * b, b = 0, ranks - 1)], MPI_INTEGER, apart, counts, displs, MPI_INTEGER, &
                       comm, ierror)
    call check(apart(displs(ranks - 1)) == 1000 * rank + (ranks - 1), 'alltoallv')
    total = ranks * (ranks + 1) / 2
    sent = rank + 1
    call MPI_Reduce_scatter_block(sent, one, n, MPI_INTEGER, MPI_SUM, comm, ierror)
    call check(count(one == total) == n, 'reduce_scatter_block')
    counts = [(b + 1, b = 0, ranks - 1)]
    one = -1
    call MPI_Reduce_scatter(sent, one, counts, MPI_INTEGER, MPI_SUM, comm, ierror)
    call check(count(one == total) == rank + 1 .and. one(n) == -1, 'reduce_scatter')
    call MPI_Scan(sent, one, n, MPI_INTEGER, MPI_SUM, comm, ierror)
    call check(count(one == (rank + 1) * (rank + 2) / 2) == n, 'scan')
    one = rank + 1
    call MPI_Exscan(MPI_IN_PLACE, one, n, MPI_INTEGER, MPI_SUM, comm, ierror)
    call check(rank == 0 .or. count(one == rank * (rank + 1) / 2) == n, 'exscan in place')
  end subroutine

  ! The program's own operations: a sum, and the composition of the maps x -> a x + b modulo a prime, which does not
  ! commute.
#if defined(USE_MPI_F08)
  subroutine add(in, inout, length, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer :: length
    TYPE_HANDLE :: datatype
    double precision, pointer :: from(:), to(:)
    call c_f_pointer(in, from, [length])
    call c_f_pointer(inout, to, [length])
    call check(datatype == MPI_DOUBLE_PRECISION, 'the operation was given another datatype')
    to = from + to
  end subroutine

  subroutine compose(in, inout, length, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer :: length
    TYPE_HANDLE :: datatype
    integer, pointer :: from(:, :), to(:, :)
    integer :: size, error
    call c_f_pointer(in, from, [2, length])
    call c_f_pointer(inout, to, [2, length])
    call MPI_Type_size(datatype, size, error)
    call check(size == 8, 'the operation was given another datatype')
    call compose_maps(from, to, length)
  end subroutine
#else
  subroutine add(from, to, length, datatype)
    integer :: length
    double precision :: from(length), to(length)
    TYPE_HANDLE :: datatype
    call check(datatype == MPI_DOUBLE_PRECISION, 'the operation was given another datatype')
    to = from + to
  end subroutine

  subroutine compose(from, to, length, datatype)
    integer :: length
    integer :: from(2, length), to(2, length)
    TYPE_HANDLE :: datatype
    integer :: size, error
    call MPI_Type_size(datatype, size, error)
    call check(size == 8, 'the operation was given another datatype')
    call compose_maps(from, to, length)
  end subroutine
#endif

  subroutine compose_maps(from, to, length)
    integer, intent(in) :: length
    integer, intent(in) :: from(2, length)
    integer, intent(inout) :: to(2, length)
    integer, parameter :: prime = 10007
    integer :: i
    do i = 1, length
      to(2, i) = mod(to(1, i) * from(2, i) + to(2, i), prime)
      to(1, i) = mod(to(1, i) * from(1, i), prime)
    end do
  end subroutine

  subroutine check_operations(comm)
    COMM_HANDLE, intent(in) :: comm
    OP_HANDLE :: op
    TYPE_HANDLE :: map
    integer, parameter :: maps = 1500
    integer :: round, i, other, mine(2, maps), got(2, maps), expected(2, maps), operand(2, maps)
    double precision :: numbers(700)
    call MPI_Type_contiguous(2, MPI_INTEGER, map, ierror)
    call MPI_Type_commit(map, ierror)
    do round = 1, 20
      call MPI_Op_create(add, .true., op, ierror)
      numbers = rank
      call MPI_Allreduce(MPI_IN_PLACE, numbers, 700, MPI_DOUBLE_PRECISION, op, comm, ierror)
      call check(all(numbers == ranks * (ranks - 1) / 2), 'own sum')
      call MPI_Op_free(op, ierror)
      call check(op == MPI_OP_NULL, 'the freed operation is not MPI_OP_NULL')

      call MPI_Op_create(compose, .false., op, ierror)
      do other = 0, ranks - 1
        operand(1, :) = [(mod(i + 3 * other, 97) + 1, i = 1, maps)]
        operand(2, :) = [(mod(i * (other + 2), 89), i = 1, maps)]
        if (other == rank) mine = operand
        if (other > 0) then
          call compose_maps(expected, operand, maps)
        end if
        expected = operand
      end do
      call MPI_Allreduce(mine, got, maps, map, op, comm, ierror)
      call check(all(got == expected), 'own operation that does not commute')
      got = -1
      call MPI_Reduce(mine, got, maps, map, op, mod(round, ranks), comm, ierror)
      call check(rank /= mod(round, ranks) .or. all(got == expected), 'reduce by own operation')
      call MPI_Op_free(op, ierror)
    end do
    call MPI_Type_free(map, ierror)
  end subroutine

#if defined(USE_MPI_F08)
  subroutine check_without_ierror(comm)
    COMM_HANDLE, intent(in) :: comm
    OP_HANDLE :: op
    integer :: word
    double precision :: one(1), sum(1)
    word = merge(77, 0, rank == 0)
    call MPI_Barrier(comm)
    call MPI_Bcast(word, 1, MPI_INTEGER, 0, comm)
    call check(word == 77, 'bcast without ierror')
    one = 1
    call MPI_Op_create(add, .true., op)
    call MPI_Allreduce(one, sum, 1, MPI_DOUBLE_PRECISION, op, comm)
    call MPI_Reduce(one, sum, 1, MPI_DOUBLE_PRECISION, op, 0, comm)
    call MPI_Op_free(op)
    call check(sum(1) == ranks, 'allreduce without ierror')
  end subroutine
#endif

end module

program fortran
  use checks
  implicit none
  COMM_HANDLE :: twin
  integer :: round
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  do round = 1, 2
    call MPI_Comm_dup(MPI_COMM_WORLD, twin, ierror)
    call MPI_Barrier(twin, ierror)
    call check(ierror == MPI_SUCCESS, 'barrier')
    call check_bcast(twin)
    call check_layouts(twin)
    call check_memory(twin)
    call check_allreduce(twin)
    call check_reduce(twin)
    call check_blocks(twin)
    call check_started(twin)
    call check_neighbors(twin)
    call check_operations(MPI_COMM_WORLD)
    call MPI_Comm_free(twin, ierror)
  end do
#if defined(USE_MPI_F08)
  call check_without_ierror(MPI_COMM_WORLD)
  call MPI_Finalize()
#else
  call MPI_Finalize(ierror)
#endif
  if (rank == 0) print '(a)', 'passed'
end program
