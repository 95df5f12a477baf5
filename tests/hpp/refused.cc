// SPDX-License-Identifier: BSD-3-Clause
// Not compiled into anything: each line that ends with "refused: CONCEPT" must be an error that names that concept.
#include <coll/coll.hpp>
#include <deque>
#include <list>
#include <vector>

struct Point {
  double x, y;
};

void calls(coll::Communicator& comm, std::vector<int>& ints, const std::vector<int>& constant) {
  std::deque<int> deque(3);
  std::list<int> list(3);
  std::vector<unsigned> others(3);
  std::vector<Point> points(3);
  std::vector<int*> pointers(3);
  comm.allreduce(deque, ints, coll::sum);                         // refused: contiguous_range
  comm.gather(ints, list, 0);                                     // refused: contiguous_range
  comm.allreduce(ints, constant, coll::sum);                      // refused: MutableVector
  comm.bcast(constant, 0);                                        // refused: MutableVector
  comm.allgather(ints, coll::in_place);                           // refused: MutableVector
  comm.scatter(coll::in_place, ints, 0);                          // refused: Vector
  comm.alltoall(ints, others);                                    // refused: same_as
  comm.alltoall(pointers, pointers);                              // refused: Element
  comm.scan(points, points, coll::sum);                           // refused: OperationOn
  static_cast<void>(comm.iallgather(std::vector<int>(3), ints));  // refused: OutlivesTheCall
  comm.allreduce(ints, others, coll::sum);                        // refused: same_as
}
