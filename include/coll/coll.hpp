// SPDX-License-Identifier: BSD-3-Clause
//
// libcoll for C++20: coll.h with typed vectors, exceptions, objects that clean up. Why this file is long: so is coll.h.
//
//   coll::Communicator comm = coll::Communicator::from_launcher();
//   std::vector<double> mine(1000, comm.rank()), sum(1000);
//   comm.allreduce(mine, sum, coll::sum);
//   double largest = comm.allreduce(mine[0], coll::max);
//
// Conventions of this header
//  - The terms and rules of coll.h hold here too: collectives are called by every rank, in the same order; one thread
//    at a time uses a communicator, several threads may use different requests; operands combine in rank order; a dead
//    peer makes the communicator unusable. A member function has the contract of the C function of the same name; comments here state what differs.
//  - A vector is any contiguous range with a size: std::vector, std::array, std::span, std::string, a C array,
//    coll::Memory; not std::vector<bool>. Its element type determines the datatype, its size the count. A send vector
//    may be constant, and is not written; a receive vector may not. Both have the same element type.
//  - coll::in_place as the send vector takes the input from the receive vector; scatter takes it as the receive vector.
//  - Errors. A call that fails throws coll::Error with the status of the C function: a wrong size (COUNT, ARG) is found
//    before anything is sent, as in coll.h by this rank alone. An exception of a user's callable is thrown instead, see
//    coll::Op. A call that needs memory of its own may also throw std::bad_alloc. Functions marked noexcept,
//    destructors and moves do not throw.
//  - Lifetimes. A blocking call is done with the vectors when it returns. The vectors of a non-blocking or persistent
//    collective must live, in the same place, until the Request is complete or destroyed; temporary containers are
//    refused, temporary views such as std::span are not. Blocks and counts are read during the call only.
//  - A moved-from object may be destroyed or assigned to. A moved-from Communicator has rank and size -1, and its
//    collectives throw COLL_ERR_ARG; a moved-from Request is complete; a moved-from Memory is empty.
//  - Header only; link with libcoll. Functions of coll.h that are missing here are called with handle().
//
// This file is long because it is all that a C++ program includes, and has a typed form of each call of coll.h.
#ifndef COLL_COLL_HPP
#define COLL_COLL_HPP

#include <atomic>
#include <bit>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "coll/coll.h"

namespace coll {

// ---- errors -----------------------------------------------------------------------------------------------------

// A failed call. what() is coll_strerror(), a colon, and the text of coll_last_error(): what happened and how to fix
// it.
class Error : public std::runtime_error {
 public:
  Error(coll_status status, const std::string& text)
      : std::runtime_error(std::string(coll_strerror(status)) + (text.empty() ? "" : ": " + text)), status_(status) {}
  // Never COLL_OK.
  coll_status status() const noexcept { return status_; }

 private:
  coll_status status_;
};

namespace detail {
inline void check(coll_status status) {
  if (status != COLL_OK) [[unlikely]]
    throw Error(status, coll_last_error());
}
}  // namespace detail

// ---- element types ----------------------------------------------------------------------------------------------

// IEEE binary16 as it is stored, COLL_FLOAT16. Reductions combine in float. It has no arithmetic of its own: convert to
// float and back, which rounds to nearest, ties to even; NaN stays NaN. Where the compiler has _Float16, vectors of
// that have the same datatype.
struct float16 {
  std::uint16_t bits = 0;

  float16() = default;
  explicit constexpr float16(float value) noexcept {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = whole >> 16 & 0x8000u, magnitude = whole & 0x7fffffffu;
    std::uint32_t half = 0;
    if (magnitude > 0x7f800000u) {
      half = 0x7e00u | (magnitude >> 13 & 0x3ffu);  // quiet, the payload's upper bits kept
    } else if (magnitude >= 0x47800000u) {
      half = 0x7c00u;  // 65536 and above, infinity
    } else if (magnitude >= 0x38800000u) {
      half = round(magnitude - 0x38000000u, 13);  // normal; rounding may carry up to infinity, as it should
    } else if (magnitude >= 0x33000000u) {
      half = round((magnitude & 0x7fffffu) | 0x800000u, 126 - (magnitude >> 23));  // subnormal
    }
    bits = static_cast<std::uint16_t>(sign | half);
  }
  explicit constexpr operator float() const noexcept {
    const std::uint32_t sign = std::uint32_t{bits} << 16 & 0x80000000u, magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u)
      return std::bit_cast<float>(sign | 0x7f800000u | (magnitude > 0x7c00u ? 0x400000u : 0u) |
                                  (magnitude & 0x3ffu) << 13);
    if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
    const float small = static_cast<float>(magnitude) * 0x1p-24f;  // exact
    return sign != 0 ? -small : small;
  }
  static constexpr float16 from_bits(std::uint16_t bits) noexcept {
    float16 made;
    made.bits = bits;
    return made;
  }

 private:
  static constexpr std::uint32_t round(std::uint32_t value, std::uint32_t shift) noexcept {
    const std::uint32_t kept = value >> shift, rest = value & ((1u << shift) - 1), half = 1u << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1u) != 0) ? 1u : 0u);
  }
};

// bfloat16 as it is stored, the upper half of a float, COLL_BFLOAT16. Used as float16 is.
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  explicit constexpr bfloat16(float value) noexcept {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    const bool nan = (whole & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<std::uint16_t>(nan ? whole >> 16 | 0x40u : (whole + 0x7fffu + (whole >> 16 & 1u)) >> 16);
  }
  explicit constexpr operator float() const noexcept { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
  static constexpr bfloat16 from_bits(std::uint16_t bits) noexcept {
    bfloat16 made;
    made.bits = bits;
    return made;
  }
};

// A value and its index, for coll::minloc and coll::maxloc. T: short, int, long, float, double or long double.
template <class T>
struct Located {
  T value;
  int index;
};

namespace detail {
template <class T>
inline constexpr coll_datatype named_type = 0;
template <std::integral T>
requires(sizeof(T) <= 8) inline constexpr coll_datatype named_type<T> =
    static_cast<coll_datatype>((std::is_signed_v<T> ? COLL_INT8 : COLL_UINT8) + std::countr_zero(sizeof(T)));
template <>
inline constexpr coll_datatype named_type<bool> = COLL_BOOL;
template <>
inline constexpr coll_datatype named_type<std::byte> = COLL_BYTE;
template <>
inline constexpr coll_datatype named_type<float16> = COLL_FLOAT16;
template <>
inline constexpr coll_datatype named_type<bfloat16> = COLL_BFLOAT16;
// GCC 12 for aarch64 defines the limits of _Float16, but has the type in C only.
#if defined(__FLT16_MAX__) && (defined(__clang__) || !defined(__aarch64__) || __GNUC__ >= 13)
#define COLL_HPP_FLOAT16 1
template <>
inline constexpr coll_datatype named_type<_Float16> = COLL_FLOAT16;
#endif
template <>
inline constexpr coll_datatype named_type<float> = COLL_FLOAT;
template <>
inline constexpr coll_datatype named_type<double> = COLL_DOUBLE;
template <>
inline constexpr coll_datatype named_type<long double> = COLL_LONG_DOUBLE;
template <>
inline constexpr coll_datatype named_type<std::complex<float>> = COLL_COMPLEX_FLOAT;
template <>
inline constexpr coll_datatype named_type<std::complex<double>> = COLL_COMPLEX_DOUBLE;
template <>
inline constexpr coll_datatype named_type<std::complex<long double>> = COLL_COMPLEX_LONG_DOUBLE;
template <>
inline constexpr coll_datatype named_type<Located<short>> = COLL_SHORT_INT;
template <>
inline constexpr coll_datatype named_type<Located<int>> = COLL_INT_INT;
template <>
inline constexpr coll_datatype named_type<Located<long>> = COLL_LONG_INT;
template <>
inline constexpr coll_datatype named_type<Located<float>> = COLL_FLOAT_INT;
template <>
inline constexpr coll_datatype named_type<Located<double>> = COLL_DOUBLE_INT;
template <>
inline constexpr coll_datatype named_type<Located<long double>> = COLL_LONG_DOUBLE_INT;
template <class T>
inline constexpr bool is_named = named_type<T> != 0;
static_assert(sizeof(bool) == 1 && COLL_INT64 == COLL_INT8 + 3 && COLL_UINT64 == COLL_UINT8 + 3);

inline constexpr std::size_t cache_line_bytes = 64;  // alignment of coll_mem_alloc() and of staged data
}  // namespace detail

// A type whose bytes mean the same in another process: trivially copyable, without const or volatile, not a pointer,
// aligned to at most 64 bytes. Pointers inside of a structure are not found out.
template <class T>
concept Element = std::same_as<T, std::remove_cv_t<T>> && std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
                  alignof(T) <= detail::cache_line_bytes && sizeof(T) < 0x80000000u;

// An element with a datatype of its own, which built-in operations combine: bool, std::byte, integers, floating point,
// std::complex of float, double and long double, float16, bfloat16, Located. An operation that is not defined for such
// a type (coll_op_defined()) throws COLL_ERR_OP at run time.
template <class T>
concept Combinable = Element<T> && detail::is_named<T>;

// The datatype of an element: COLL_TYPE_BYTES(sizeof(T)) for one that only a user-defined operation can combine.
template <Element T>
inline constexpr coll_datatype datatype_of = Combinable<T> ? detail::named_type<T>
                                                           : COLL_TYPE_BYTES(static_cast<std::uint32_t>(sizeof(T)));

// What a collective can send.
template <class R>
concept Vector = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    Element<std::remove_const_t<std::remove_reference_t<std::ranges::range_reference_t<R>>>>;
// What a collective can receive into.
template <class R>
concept MutableVector = Vector<R> && Element<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

// Stands for COLL_IN_PLACE, and as the receive vector of a scatter for COLL_RECV_IN_PLACE.
struct in_place_t {
  explicit in_place_t() = default;
};
inline constexpr in_place_t in_place{};

// ---- operations -------------------------------------------------------------------------------------------------

// One of the library's own operations. A constant; nothing is to be freed.
struct BuiltinOp {
  coll_op handle;
};
inline constexpr BuiltinOp sum{COLL_SUM}, prod{COLL_PROD}, min{COLL_MIN}, max{COLL_MAX}, land{COLL_LAND}, lor{COLL_LOR},
    lxor{COLL_LXOR}, band{COLL_BAND}, bor{COLL_BOR}, bxor{COLL_BXOR}, minloc{COLL_MINLOC}, maxloc{COLL_MAXLOC};

// ranks: operands are combined in rank order. any: the operation commutes, and libcoll may reorder them. It must be
// associative in both cases.
enum class Order { ranks, any };

namespace detail {

// A user-defined operation, shared by Op and the requests that use it. Keeps an exception of the callable until it can
// be thrown outside of C.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() {
    if (handle_ != 0) static_cast<void>(coll_op_free(handle_));
  }
  coll_op handle() const noexcept { return handle_; }
  std::exception_ptr take() noexcept {
    if (!failed_.load(std::memory_order_acquire)) return nullptr;
    const std::lock_guard lock(mutex_);
    failed_.store(false, std::memory_order_relaxed);
    return std::exchange(exception_, nullptr);
  }

 protected:
  void create(coll_op_function function, Order order) {
    check(coll_op_create(function, order == Order::any ? 1 : 0, this, &handle_));
  }
  void create_scaled_sum(const void* factor, coll_datatype type) {
    check(coll_op_create_scaled_sum(factor, type, &handle_));
  }
  template <class Work>
  void guard(Work&& work) noexcept {
    if (failed_.load(std::memory_order_relaxed)) return;
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      exception_ = std::current_exception();
      failed_.store(true, std::memory_order_release);
    }
  }

 private:
  coll_op handle_ = 0;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr exception_;
};

template <class F, class T>
concept Elementwise = std::is_invocable_r_v<T, F&, const T&, const T&>;
template <class F, class T>
concept Spanwise = std::is_invocable_v<F&, std::span<const T>, std::span<T>>;

template <class T, class F>
class Callable final : public Operation {
 public:
  Callable(F function, Order order) : function_(std::move(function)) { create(call, order); }

 private:
  static void call(const void* in, void* inout, std::size_t count, coll_datatype, void* context) {
    auto& self = *static_cast<Callable*>(static_cast<Operation*>(context));
    const std::span<const T> lower(static_cast<const T*>(in), count);
    const std::span<T> upper(static_cast<T*>(inout), count);
    self.guard([&] {
      if constexpr (Elementwise<F, T>) {  // first: instantiating a generic lambda with spans could be an error
        for (std::size_t i = 0; i < count; i++) upper[i] = self.function_(lower[i], upper[i]);
      } else {
        self.function_(lower, upper);
      }
    });
  }

  F function_;
};

class ScaledSum final : public Operation {
 public:
  ScaledSum(const void* factor, coll_datatype type) { create_scaled_sum(factor, type); }
};

}  // namespace detail

// A user-defined operation on elements of type T. The callable is copied or moved in and is either
//   T combine(const T& lower, const T& upper)                            returns lower op upper
//   void combine(std::span<const T> lower, std::span<T> upper)           upper[i] = lower[i] op upper[i]
// where `lower` comes from the lower ranks. A generic lambda is called with elements. It runs in a thread that is
// inside a call on the communicator, and must not call libcoll.
// The callable lives until the last copy of the Op and the last Request that uses it are gone; a Request that is
// complete still holds it. Copies share it: if they are used by several threads at once, on several communicators, the
// callable must allow that.
// Exceptions of the callable: the call, Request::wait() or Request::test() throws it, on the rank where it was thrown,
// when the collective has completed. The result of the collective is unspecified at every rank; the communicator stays
// usable. If several collectives run with the same operation, the first of them that is waited for throws it.
// The constructor throws Error (NO_MEMORY) and what copying the callable throws. A moved-from Op may only be destroyed
// or assigned to.
template <Element T>
class Op {
 public:
  template <class F>
  requires(detail::Elementwise<F, T> || detail::Spanwise<F, T>) explicit Op(F combine, Order order = Order::ranks)
      : operation_(std::make_shared<detail::Callable<T, F>>(std::move(combine), order)) {}
  // The sum of each rank's input times its own factor, see coll_op_create_scaled_sum(). Throws Error: OP if T has no sum.
  static Op scaled_sum(const T& factor) requires Combinable<T> {
    return Op(std::make_shared<detail::ScaledSum>(&factor, datatype_of<T>));
  }
  coll_op handle() const noexcept { return operation_->handle(); }
  const std::shared_ptr<detail::Operation>& operation() const noexcept { return operation_; }

 private:
  explicit Op(std::shared_ptr<detail::Operation> operation) noexcept : operation_(std::move(operation)) {}
  std::shared_ptr<detail::Operation> operation_;
};

// O is an operation on elements of type T.
template <class O, class T>
concept OperationOn = (std::same_as<O, BuiltinOp> && Combinable<T>) || std::same_as<O, Op<T>>;

namespace detail {

inline coll_op handle_of(const BuiltinOp& op) noexcept { return op.handle; }
inline std::shared_ptr<Operation> operation_of(const BuiltinOp&) noexcept { return nullptr; }
template <class T>
coll_op handle_of(const Op<T>& op) noexcept {
  return op.handle();
}
template <class T>
const std::shared_ptr<Operation>& operation_of(const Op<T>& op) noexcept {
  return op.operation();
}

// An exception of the callable comes before the status.
inline void finish(coll_status status, Operation* operation) {
  if (operation != nullptr)
    if (const std::exception_ptr exception = operation->take()) std::rethrow_exception(exception);
  check(status);
}

template <class R>
using element_t = std::remove_cv_t<std::ranges::range_value_t<R>>;

template <class R>
inline constexpr bool is_in_place = std::same_as<std::remove_cvref_t<R>, in_place_t>;

// R, or if that is coll::in_place a vector of the elements of the other one.
template <class R, class Other>
struct given {
  using type = R;
};
template <class R, class Other>
requires is_in_place<R>
struct given<R, Other> {
  using type = std::span<element_t<Other>>;
};
template <class R, class Other>
using given_t = typename given<R, Other>::type;
template <class R, class Other>
using given_element_t = element_t<given_t<R, Other>>;

// The vectors of a collective: both of the same elements. Only the send vector, of a scatter only the receive vector,
// may be coll::in_place. Conjunctions alone: compilers name the part of one that does not hold.
template <class Send, class Recv>
concept Movement =
    MutableVector<Recv> && Vector<given_t<Send, Recv>> && std::same_as<given_element_t<Send, Recv>, element_t<Recv>>;
template <class Send, class Recv>
concept Scattering =
    Vector<Send> && MutableVector<given_t<Recv, Send>> && std::same_as<element_t<Send>, given_element_t<Recv, Send>>;
template <class Send, class Recv, class O>
concept Reduction = Movement<Send, Recv> && OperationOn<O, element_t<Recv>>;
// The vector of a collective that goes on after the call: an lvalue, or a view such as std::span.
template <class R>
concept OutlivesTheCall = is_in_place<R> || std::ranges::borrowed_range<R>;
template <class Send, class Recv>
concept BothOutliveTheCall = OutlivesTheCall<Send> && OutlivesTheCall<Recv>;

// Arguments for coll.h. `receives`: this rank gets the result; the others' recv is ignored.
struct Arguments {
  const void* send;
  void* recv;
  std::size_t count;
};
template <class Send, class Recv>
Arguments arguments(Send&& send, Recv&& recv, bool receives) {
  if constexpr (is_in_place<Send>) {
    void* data = std::ranges::data(recv);
    return {receives ? COLL_IN_PLACE : data, receives ? data : nullptr, std::ranges::size(recv)};
  } else {
    const std::size_t count = std::ranges::size(send);
    if (receives && std::ranges::size(recv) != count)
      throw Error(COLL_ERR_COUNT, "the send vector has " + std::to_string(count) + " elements, the receive vector " +
                                      std::to_string(std::ranges::size(recv)) + "; make them equal");
    return {std::ranges::data(send), receives ? std::ranges::data(recv) : nullptr, count};
  }
}

template <class R>
const void* data_of(R&& range) {
  if constexpr (is_in_place<R>) return COLL_IN_PLACE;
  else return std::ranges::data(range);
}
template <class R>
void* writable_data_of(R&& range) {
  if constexpr (is_in_place<R>) return COLL_RECV_IN_PLACE;
  else return std::ranges::data(range);
}
template <class R>
std::size_t size_of(R&& range) {
  if constexpr (is_in_place<R>) return 0;
  else return std::ranges::size(range);
}

inline void check_size(const char* which, std::size_t size, std::size_t expected) {
  if (size != expected)
    throw Error(COLL_ERR_COUNT, std::string("the ") + which + " vector has " + std::to_string(size) +
                                    " elements; it takes " + std::to_string(expected));
}
// Elements of one of `ranks` blocks.
inline std::size_t block_of(const char* which, std::size_t size, int ranks) {
  const auto blocks = static_cast<std::size_t>(ranks);
  if (size % blocks != 0)
    throw Error(COLL_ERR_COUNT, std::string("the ") + which + " vector's " + std::to_string(size) +
                                    " elements are not " + std::to_string(blocks) + " blocks of one length");
  return size / blocks;
}

}  // namespace detail

// ---- requests ---------------------------------------------------------------------------------------------------

// A non-blocking collective (Communicator::iallreduce()), or a persistent one that can be started any number of times
// (allreduce_init()). Move-only. It keeps its communicator and its operation alive until it is destroyed or assigned
// to, even when complete; the vectors are the caller's to keep.
// The destructor, and assignment to a Request, wait for a collective that is still active, because its vectors may go
// away next. They can therefore wait forever if a live peer never takes part. They ignore the status, and an exception
// of the operation; a persistent request is freed.
// A Request is used by one thread at a time, as its communicator is.
class Request {
 public:
  // Complete: test() is true, wait() returns, start() throws Error (ARG).
  Request() = default;
  Request(Request&& other) noexcept { swap(other); }
  // Waits for the collective that this one holds, if it is active.
  Request& operator=(Request&& other) noexcept {
    Request(std::move(other)).swap(*this);
    return *this;
  }
  ~Request() {
    if (request_ == nullptr) return;
    static_cast<void>(coll_wait(&request_));
    static_cast<void>(coll_request_free(request_));  // a persistent one is left
    if (operation_ != nullptr) static_cast<void>(operation_->take());
  }

  // Starts a persistent request; see coll_start(). Throws Error: STATE if it is active, or not persistent.
  void start() { detail::check(coll_start(request_)); }
  // Returns whether it is complete, without waiting. Makes progress. If the collective failed, throws as wait() does:
  // it is complete then, too.
  bool test() {
    int done = 0;
    const coll_status status = coll_test(&request_, &done);
    if (status != COLL_OK || done != 0) detail::finish(status, operation_.get());
    return done != 0;
  }
  // Returns when it is complete. If the collective failed, throws the exception of the operation's callable, otherwise
  // Error with the status of its execution. In any case the request is complete afterwards: a non-blocking one is over,
  // a persistent one can be started again unless the communicator is unusable.
  void wait() {
    const coll_status status = coll_wait(&request_);
    detail::finish(status, operation_.get());
  }

 private:
  friend class Communicator;
  Request(std::shared_ptr<coll_comm> comm, std::shared_ptr<detail::Operation> operation) noexcept
      : comm_(std::move(comm)), operation_(std::move(operation)) {}
  void swap(Request& other) noexcept {
    comm_.swap(other.comm_);
    operation_.swap(other.operation_);
    std::swap(request_, other.request_);
  }

  std::shared_ptr<coll_comm> comm_;
  std::shared_ptr<detail::Operation> operation_;
  coll_request* request_ = nullptr;
};

// Advances the active requests of all communicators of the process; see coll_progress(). Throws Error: NO_MEMORY.
inline void progress() { detail::check(coll_progress()); }

// ---- blocks of different lengths ----------------------------------------------------------------------------------

// The blocks of a vector: block r is the counts[r] elements from element displs[r] on. If displs is empty, blocks
// follow each other without gaps. Each has an entry for every rank, otherwise the call throws Error (ARG); counts may
// be empty where coll.h ignores it. That blocks end within the vector is not checked.
struct Blocks {
  std::span<const std::size_t> counts = {}, displs = {};
};

// Messages of a sparse exchange: a vector for a peer, and one from it. Until the exchange is complete the vector must live,
// in the same place.
template <Vector R>
requires detail::OutlivesTheCall<R>
[[nodiscard]] coll_outgoing outgoing(int peer, R&& vector) {
  return {peer, std::ranges::data(vector), std::ranges::size(vector) * sizeof(*std::ranges::data(vector))};
}
template <MutableVector R>
requires detail::OutlivesTheCall<R>
[[nodiscard]] coll_incoming incoming(int peer, R&& vector) {
  return {peer, std::ranges::data(vector), std::ranges::size(vector) * sizeof(*std::ranges::data(vector))};
}

// ---- communicators ----------------------------------------------------------------------------------------------

// A communicator of coll.h. Move-only. The destructor, and assignment to a Communicator, free it with coll_comm_free()
// when the last Request that was made from it is gone: no peer is waited for, and a Request may outlive the
// Communicator. So may a coll_request that was made with handle(): see coll_comm_free().
class Communicator {
 public:
  // A communicator of all ranks of an allgather: void allgather(std::span<const std::byte> send, std::span<std::byte>
  // recv), which puts the bytes of rank r to recv[r * send.size()] and on. It is called during construction only. An
  // exception of it is thrown on, otherwise Error with a status of coll_comm_create(). Collective.
  template <class Allgather>
  requires std::is_invocable_v<Allgather&, std::span<const std::byte>, std::span<std::byte>> Communicator(
      int rank, int ranks, Allgather&& allgather) {
    Bootstrap<std::remove_reference_t<Allgather>> state{allgather, static_cast<std::size_t>(ranks), nullptr};
    const coll_bootstrap bootstrap{sizeof(coll_bootstrap), rank, ranks, state.call, &state};
    coll_comm* made = nullptr;
    const coll_status status = coll_comm_create(&bootstrap, &made);
    if (state.exception != nullptr) std::rethrow_exception(state.exception);
    detail::check(status);
    adopt(made);
  }
  // The ranks that `collctl run -n N program` started; without it, a communicator of one rank. Collective. Throws Error
  // with a status of coll_comm_create_from_launcher().
  static Communicator from_launcher() {
    coll_comm* made = nullptr;
    detail::check(coll_comm_create_from_launcher(&made));
    return Communicator(made);
  }
  // Takes ownership of a communicator of coll.h. NULL makes a Communicator as if moved from.
  explicit Communicator(coll_comm* owned) { adopt(owned); }
  Communicator(Communicator&&) noexcept = default;
  Communicator& operator=(Communicator&&) noexcept = default;

  // The ranks that give the same colour form a communicator, ordered by key, then by rank; std::nullopt for a negative
  // colour. It does not depend on this one. Collective. Throws Error with a status of coll_comm_split().
  std::optional<Communicator> split(int colour, int key = 0) {
    coll_comm* made = nullptr;
    detail::check(coll_comm_split(handle(), colour, key, &made));
    if (made == nullptr) return std::nullopt;
    return Communicator(made);
  }

  // 0 .. size() - 1.
  int rank() const noexcept { return coll_comm_rank(handle()); }
  // The number of ranks.
  int size() const noexcept { return coll_comm_size(handle()); }
  // One line for people to read: ranks, hierarchy, transport, table. Valid until the communicator is freed.
  std::string_view describe() const noexcept { return coll_comm_describe(handle()); }
  // Ends all waiting on it, on every rank, with Error (ABORTED); see coll_comm_abort(). From any thread. Throws Error: ARG.
  void abort(coll_status why = COLL_ERR_ABORTED) { detail::check(coll_comm_abort(handle(), why)); }
  // For calls of coll.h. Still owned by the Communicator.
  coll_comm* handle() const noexcept { return comm_.get(); }

  // -- blocking: vectors whose sizes must be the same on every rank; throw Error with a status of the C function
  void barrier() { detail::check(coll_barrier(handle())); }

  // The root's vector is copied to the vectors of the others.
  template <MutableVector R>
  void bcast(R&& buffer, int root) {
    detail::check(coll_bcast(std::ranges::data(buffer), std::ranges::size(buffer), type<R>, root, handle()));
  }
  // The same with a single value.
  template <Element T>
  requires(!std::ranges::range<T>) void bcast(T& value, int root) { bcast(std::span<T, 1>(&value, 1), root); }

  // recv gets the result at the root and may be empty at the others. Unlike in C, coll::in_place may be given on every
  // rank: the others then send recv, and keep it.
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O>
  void reduce(Send&& send, Recv&& recv, const O& op, int root) {
    const auto a = detail::arguments(send, recv, rank() == root);
    const auto status = coll_reduce(a.send, a.recv, a.count, type<Recv>, detail::handle_of(op), root, handle());
    detail::finish(status, detail::operation_of(op).get());
  }
  // Every rank gets the result.
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O>
  void allreduce(Send&& send, Recv&& recv, const O& op) {
    const auto a = detail::arguments(send, recv, true);
    const auto status = coll_allreduce(a.send, a.recv, a.count, type<Recv>, detail::handle_of(op), handle());
    detail::finish(status, detail::operation_of(op).get());
  }
  // The same with a single value: returns the result.
  template <Element T, OperationOn<T> O>
  requires(!std::ranges::range<T>) [[nodiscard]] T allreduce(const T& value, const O& op) {
    T result = value;
    allreduce(in_place, std::span<T, 1>(&result, 1), op);
    return result;
  }

  // -- non-blocking: the Request is active. Errors of starting are thrown here, those of execution by Request::wait().
  [[nodiscard]] Request ibarrier() {
    return begin(nullptr, [&](coll_request** r) { return coll_ibarrier(handle(), r); });
  }
  template <MutableVector R>
  requires detail::OutlivesTheCall<R>
  [[nodiscard]] Request ibcast(R&& buffer, int root) {
    return begin(nullptr, [&](coll_request** r) {
      return coll_ibcast(std::ranges::data(buffer), std::ranges::size(buffer), type<R>, root, handle(), r);
    });
  }
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request ireduce(Send&& send, Recv&& recv, const O& op, int root) {
    const auto a = detail::arguments(send, recv, rank() == root);
    return begin(detail::operation_of(op), [&](coll_request** r) {
      return coll_ireduce(a.send, a.recv, a.count, type<Recv>, detail::handle_of(op), root, handle(), r);
    });
  }
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request iallreduce(Send&& send, Recv&& recv, const O& op) {
    const auto a = detail::arguments(send, recv, true);
    return begin(detail::operation_of(op), [&](coll_request** r) {
      return coll_iallreduce(a.send, a.recv, a.count, type<Recv>, detail::handle_of(op), handle(), r);
    });
  }

  // -- persistent: the Request is inactive; Request::start() runs the collective on what the vectors hold then
  [[nodiscard]] Request barrier_init() {
    return begin(nullptr, [&](coll_request** r) { return coll_barrier_init(handle(), r); });
  }
  template <MutableVector R>
  requires detail::OutlivesTheCall<R>
  [[nodiscard]] Request bcast_init(R&& buffer, int root) {
    return begin(nullptr, [&](coll_request** r) {
      return coll_bcast_init(std::ranges::data(buffer), std::ranges::size(buffer), type<R>, root, handle(), r);
    });
  }
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request reduce_init(Send&& send, Recv&& recv, const O& op, int root) {
    const auto a = detail::arguments(send, recv, rank() == root);
    return begin(detail::operation_of(op), [&](coll_request** r) {
      return coll_reduce_init(a.send, a.recv, a.count, type<Recv>, detail::handle_of(op), root, handle(), r);
    });
  }
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request allreduce_init(Send&& send, Recv&& recv, const O& op) {
    const auto a = detail::arguments(send, recv, true);
    return begin(detail::operation_of(op), [&](coll_request** r) {
      return coll_allreduce_init(a.send, a.recv, a.count, type<Recv>, detail::handle_of(op), handle(), r);
    });
  }

  // -- blocks and scans, blocking
  // send: [size()][n] at the root, ignored and possibly empty at the others; recv: [n], or coll::in_place at the root,
  // whose block then stays in send.
  template <class Send, class Recv>
  requires detail::Scattering<Send, Recv>
  void scatter(Send&& send, Recv&& recv, int root) {
    detail::check(std::apply(coll_scatter, scatter_arguments(send, recv, root)));
  }
  // send: [n], or coll::in_place at the root, whose block is in recv then; recv: [size()][n] at the root, ignored and
  // possibly empty at the others.
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv>
  void gather(Send&& send, Recv&& recv, int root) {
    detail::check(std::apply(coll_gather, gather_arguments(send, recv, root)));
  }
  // As gather, with the result at every rank.
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv>
  void allgather(Send&& send, Recv&& recv) {
    detail::check(std::apply(coll_allgather, allgather_arguments(send, recv)));
  }
  // send, recv: [size()][n]. Block r of send goes to rank r, block r of recv comes from it.
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv>
  void alltoall(Send&& send, Recv&& recv) { detail::check(std::apply(coll_alltoall, alltoall_arguments(send, recv))); }
  // The v-forms: blocks of different lengths. blocks are those of the vector before it in scatterv, gatherv and
  // allgatherv; of scatterv and gatherv the root's only are read.
  template <class Send, class Recv>
  requires detail::Scattering<Send, Recv>
  void scatterv(Send&& send, const Blocks& blocks, Recv&& recv, int root) {
    detail::check(std::apply(coll_scatterv, scatterv_arguments(send, blocks, recv, root)));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv>
  void gatherv(Send&& send, Recv&& recv, const Blocks& blocks, int root) {
    detail::check(std::apply(coll_gatherv, gatherv_arguments(send, recv, blocks, root)));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv>
  void allgatherv(Send&& send, Recv&& recv, const Blocks& blocks) {
    detail::check(std::apply(coll_allgatherv, allgatherv_arguments(send, recv, blocks)));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv>
  void alltoallv(Send&& send, const Blocks& sent, Recv&& recv, const Blocks& received) {
    detail::check(std::apply(coll_alltoallv, alltoallv_arguments(send, sent, recv, received)));
  }
  // A sparse exchange. The lists are read during the call only; their vectors must live until it is complete.
  void neighbor_exchange(std::span<const coll_outgoing> sends, std::span<const coll_incoming> receives) {
    detail::check(std::apply(coll_neighbor_exchange, neighbor_arguments(sends, receives)));
  }
  // send: all blocks, counts[0] + counts[1] + ... elements; recv: [counts[rank()]], the own block of the result. In
  // place, recv holds the input, and its first counts[rank()] elements become the result. The sizes of send and recv
  // are not compared with counts.
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O>
  void reduce_scatter(Send&& send, Recv&& recv, std::span<const std::size_t> counts, const O& op) {
    detail::finish(std::apply(coll_reduce_scatter, reduce_scatter_arguments(send, recv, counts, op)),
                   detail::operation_of(op).get());
  }
  // send: [size()][n]; recv: [n], in place [size()][n].
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O>
  void reduce_scatter_block(Send&& send, Recv&& recv, const O& op) {
    detail::finish(std::apply(coll_reduce_scatter_block, reduce_scatter_block_arguments(send, recv, op)),
                   detail::operation_of(op).get());
  }
  // Combines the vectors of all ranks up to this one, itself included.
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O>
  void scan(Send&& send, Recv&& recv, const O& op) {
    detail::finish(std::apply(coll_scan, scan_arguments(send, recv, op)), detail::operation_of(op).get());
  }
  // Combines the vectors of all ranks below this one; recv of rank 0 is not written.
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O>
  void exscan(Send&& send, Recv&& recv, const O& op) {
    detail::finish(std::apply(coll_exscan, exscan_arguments(send, recv, op)), detail::operation_of(op).get());
  }

  // -- blocks and scans, non-blocking
  template <class Send, class Recv>
  requires detail::Scattering<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request iscatter(Send&& send, Recv&& recv, int root) {
    return begin_with(nullptr, coll_iscatter, scatter_arguments(send, recv, root));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request igather(Send&& send, Recv&& recv, int root) {
    return begin_with(nullptr, coll_igather, gather_arguments(send, recv, root));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request iallgather(Send&& send, Recv&& recv) {
    return begin_with(nullptr, coll_iallgather, allgather_arguments(send, recv));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request ialltoall(Send&& send, Recv&& recv) {
    return begin_with(nullptr, coll_ialltoall, alltoall_arguments(send, recv));
  }
  template <class Send, class Recv>
  requires detail::Scattering<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request iscatterv(Send&& send, const Blocks& blocks, Recv&& recv, int root) {
    return begin_with(nullptr, coll_iscatterv, scatterv_arguments(send, blocks, recv, root));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request igatherv(Send&& send, Recv&& recv, const Blocks& blocks, int root) {
    return begin_with(nullptr, coll_igatherv, gatherv_arguments(send, recv, blocks, root));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request iallgatherv(Send&& send, Recv&& recv, const Blocks& blocks) {
    return begin_with(nullptr, coll_iallgatherv, allgatherv_arguments(send, recv, blocks));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request ialltoallv(Send&& send, const Blocks& sent, Recv&& recv, const Blocks& received) {
    return begin_with(nullptr, coll_ialltoallv, alltoallv_arguments(send, sent, recv, received));
  }
  [[nodiscard]] Request ineighbor_exchange(std::span<const coll_outgoing> sends,
                                           std::span<const coll_incoming> receives) {
    return begin_with(nullptr, coll_ineighbor_exchange, neighbor_arguments(sends, receives));
  }
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request ireduce_scatter(Send&& send, Recv&& recv, std::span<const std::size_t> counts, const O& op) {
    return begin_with(detail::operation_of(op), coll_ireduce_scatter, reduce_scatter_arguments(send, recv, counts, op));
  }
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request ireduce_scatter_block(Send&& send, Recv&& recv, const O& op) {
    return begin_with(detail::operation_of(op), coll_ireduce_scatter_block,
                      reduce_scatter_block_arguments(send, recv, op));
  }
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request iscan(Send&& send, Recv&& recv, const O& op) {
    return begin_with(detail::operation_of(op), coll_iscan, scan_arguments(send, recv, op));
  }
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request iexscan(Send&& send, Recv&& recv, const O& op) {
    return begin_with(detail::operation_of(op), coll_iexscan, exscan_arguments(send, recv, op));
  }

  // -- blocks and scans, persistent
  template <class Send, class Recv>
  requires detail::Scattering<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request scatter_init(Send&& send, Recv&& recv, int root) {
    return begin_with(nullptr, coll_scatter_init, scatter_arguments(send, recv, root));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request gather_init(Send&& send, Recv&& recv, int root) {
    return begin_with(nullptr, coll_gather_init, gather_arguments(send, recv, root));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request allgather_init(Send&& send, Recv&& recv) {
    return begin_with(nullptr, coll_allgather_init, allgather_arguments(send, recv));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request alltoall_init(Send&& send, Recv&& recv) {
    return begin_with(nullptr, coll_alltoall_init, alltoall_arguments(send, recv));
  }
  template <class Send, class Recv>
  requires detail::Scattering<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request scatterv_init(Send&& send, const Blocks& blocks, Recv&& recv, int root) {
    return begin_with(nullptr, coll_scatterv_init, scatterv_arguments(send, blocks, recv, root));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request gatherv_init(Send&& send, Recv&& recv, const Blocks& blocks, int root) {
    return begin_with(nullptr, coll_gatherv_init, gatherv_arguments(send, recv, blocks, root));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request allgatherv_init(Send&& send, Recv&& recv, const Blocks& blocks) {
    return begin_with(nullptr, coll_allgatherv_init, allgatherv_arguments(send, recv, blocks));
  }
  template <class Send, class Recv>
  requires detail::Movement<Send, Recv> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request alltoallv_init(Send&& send, const Blocks& sent, Recv&& recv, const Blocks& received) {
    return begin_with(nullptr, coll_alltoallv_init, alltoallv_arguments(send, sent, recv, received));
  }
  [[nodiscard]] Request neighbor_exchange_init(std::span<const coll_outgoing> sends,
                                               std::span<const coll_incoming> receives) {
    return begin_with(nullptr, coll_neighbor_exchange_init, neighbor_arguments(sends, receives));
  }
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request reduce_scatter_init(Send&& send, Recv&& recv, std::span<const std::size_t> counts,
                                            const O& op) {
    return begin_with(detail::operation_of(op), coll_reduce_scatter_init,
                      reduce_scatter_arguments(send, recv, counts, op));
  }
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request reduce_scatter_block_init(Send&& send, Recv&& recv, const O& op) {
    return begin_with(detail::operation_of(op), coll_reduce_scatter_block_init,
                      reduce_scatter_block_arguments(send, recv, op));
  }
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request scan_init(Send&& send, Recv&& recv, const O& op) {
    return begin_with(detail::operation_of(op), coll_scan_init, scan_arguments(send, recv, op));
  }
  template <class Send, class Recv, class O>
  requires detail::Reduction<Send, Recv, O> && detail::BothOutliveTheCall<Send, Recv>
  [[nodiscard]] Request exscan_init(Send&& send, Recv&& recv, const O& op) {
    return begin_with(detail::operation_of(op), coll_exscan_init, exscan_arguments(send, recv, op));
  }

 private:
  template <class R>
  static constexpr coll_datatype type = datatype_of<detail::element_t<R>>;

  template <class Allgather>
  struct Bootstrap {
    Allgather& allgather;
    std::size_t ranks;
    std::exception_ptr exception;

    static int call(const void* send, void* recv, std::size_t bytes, void* context) {
      auto& self = *static_cast<Bootstrap*>(context);
      try {
        self.allgather(std::span(static_cast<const std::byte*>(send), bytes),
                       std::span(static_cast<std::byte*>(recv), bytes * self.ranks));
        return 0;
      } catch (...) {
        self.exception = std::current_exception();
        return 1;
      }
    }
  };

  // Requests share the ownership.
  void adopt(coll_comm* owned) { comm_.reset(owned, coll_comm_free); }

  template <class Call>
  Request begin(std::shared_ptr<detail::Operation> operation, Call&& call) {
    Request request(comm_, std::move(operation));
    detail::check(call(&request.request_));
    return request;
  }

  template <class Function, class Tuple>
  Request begin_with(std::shared_ptr<detail::Operation> operation, Function function, const Tuple& arguments) {
    return begin(std::move(operation),
                 [&](coll_request** r) { return std::apply(function, std::tuple_cat(arguments, std::tuple(r))); });
  }

  // Arguments for coll.h.
  std::size_t ranks() const noexcept { return static_cast<std::size_t>(size()); }
  template <class Send, class Recv>
  static constexpr coll_datatype moved = datatype_of<detail::given_element_t<Recv, Send>>;
  const std::size_t* counts_of(const Blocks& blocks, bool needed) const {
    if (!needed) return nullptr;
    if (blocks.counts.size() != ranks() || (!blocks.displs.empty() && blocks.displs.size() != ranks()))
      throw Error(COLL_ERR_ARG, "counts, and displs if given, take " + std::to_string(ranks()) + " entries");
    return blocks.counts.data();
  }
  static const std::size_t* displs_of(const Blocks& blocks) {
    return blocks.displs.empty() ? nullptr : blocks.displs.data();
  }
  template <class Send, class Recv>
  auto scatter_arguments(Send&& send, Recv&& recv, int root) {
    const bool at_root = rank() == root;
    const std::size_t count =
        detail::is_in_place<Recv> ? detail::block_of("send", detail::size_of(send), size()) : detail::size_of(recv);
    if (at_root && !detail::is_in_place<Recv>) detail::check_size("send", detail::size_of(send), count * ranks());
    return std::tuple(at_root ? detail::data_of(send) : nullptr, detail::writable_data_of(recv), count,
                      moved<Send, Recv>, root, handle());
  }
  template <class Send, class Recv>
  auto gather_arguments(Send&& send, Recv&& recv, int root) {
    const bool at_root = rank() == root;
    const std::size_t count =
        detail::is_in_place<Send> ? detail::block_of("receive", detail::size_of(recv), size()) : detail::size_of(send);
    if (at_root) detail::check_size("receive", detail::size_of(recv), count * ranks());
    return std::tuple(detail::data_of(send), at_root ? detail::writable_data_of(recv) : nullptr, count,
                      moved<Send, Recv>, root, handle());
  }
  template <class Send, class Recv>
  auto allgather_arguments(Send&& send, Recv&& recv) {
    const std::size_t count = detail::block_of("receive", detail::size_of(recv), size());
    if (!detail::is_in_place<Send>) detail::check_size("send", detail::size_of(send), count);
    return std::tuple(detail::data_of(send), detail::writable_data_of(recv), count, moved<Send, Recv>, handle());
  }
  template <class Send, class Recv>
  auto alltoall_arguments(Send&& send, Recv&& recv) {
    const std::size_t count = detail::block_of("receive", detail::size_of(recv), size());
    if (!detail::is_in_place<Send>) detail::check_size("send", detail::size_of(send), count * ranks());
    return std::tuple(detail::data_of(send), detail::writable_data_of(recv), count, moved<Send, Recv>, handle());
  }
  template <class Send, class Recv>
  auto scatterv_arguments(Send&& send, const Blocks& blocks, Recv&& recv, int root) {
    const bool at_root = rank() == root;
    return std::tuple(at_root ? detail::data_of(send) : nullptr, counts_of(blocks, at_root), displs_of(blocks),
                      detail::writable_data_of(recv), detail::size_of(recv), moved<Send, Recv>, root, handle());
  }
  template <class Send, class Recv>
  auto gatherv_arguments(Send&& send, Recv&& recv, const Blocks& blocks, int root) {
    const bool at_root = rank() == root;
    return std::tuple(detail::data_of(send), detail::size_of(send), at_root ? detail::writable_data_of(recv) : nullptr,
                      counts_of(blocks, at_root), displs_of(blocks), moved<Send, Recv>, root, handle());
  }
  template <class Send, class Recv>
  auto allgatherv_arguments(Send&& send, Recv&& recv, const Blocks& blocks) {
    return std::tuple(detail::data_of(send), detail::size_of(send), detail::writable_data_of(recv),
                      counts_of(blocks, true), displs_of(blocks), moved<Send, Recv>, handle());
  }
  template <class Send, class Recv>
  auto alltoallv_arguments(Send&& send, const Blocks& sent, Recv&& recv, const Blocks& received) {
    return std::tuple(detail::data_of(send), counts_of(sent, !detail::is_in_place<Send>), displs_of(sent),
                      detail::writable_data_of(recv), counts_of(received, true), displs_of(received), moved<Send, Recv>,
                      handle());
  }
  using NeighborArguments =
      std::tuple<const coll_outgoing*, std::size_t, const coll_incoming*, std::size_t, coll_comm*>;
  NeighborArguments neighbor_arguments(std::span<const coll_outgoing> sends, std::span<const coll_incoming> receives) {
    return {sends.data(), sends.size(), receives.data(), receives.size(), handle()};
  }
  template <class Send, class Recv, class O>
  auto reduce_scatter_arguments(Send&& send, Recv&& recv, std::span<const std::size_t> counts, const O& op) {
    return std::tuple(detail::data_of(send), detail::writable_data_of(recv), counts_of({counts}, true),
                      moved<Send, Recv>, detail::handle_of(op), handle());
  }
  template <class Send, class Recv, class O>
  auto reduce_scatter_block_arguments(Send&& send, Recv&& recv, const O& op) {
    const bool input_in_recv = detail::is_in_place<Send>;
    const std::size_t given = detail::size_of(recv);
    const std::size_t count = input_in_recv ? detail::block_of("receive", given, size()) : given;
    if (!input_in_recv) detail::check_size("send", detail::size_of(send), count * ranks());
    return std::tuple(detail::data_of(send), detail::writable_data_of(recv), count, moved<Send, Recv>,
                      detail::handle_of(op), handle());
  }
  template <class Send, class Recv, class O>
  auto scan_arguments(Send&& send, Recv&& recv, const O& op) {
    const auto a = detail::arguments(send, recv, true);
    return std::tuple(a.send, a.recv, a.count, type<Recv>, detail::handle_of(op), handle());
  }
  template <class Send, class Recv, class O>
  auto exscan_arguments(Send&& send, Recv&& recv, const O& op) {
    const auto a = detail::arguments(send, recv, true);
    return std::tuple(a.send, a.recv, a.count, type<Recv>, detail::handle_of(op), handle());
  }

  std::shared_ptr<coll_comm> comm_;
};

// ---- memory that peers can map ----------------------------------------------------------------------------------

// For containers whose elements peers can read in place: std::vector<double, coll::allocator<double>>. Memory of
// coll_mem_alloc(), which see for what becomes of it after fork(). All allocators are equal. allocate() throws Error
// (NO_MEMORY), not std::bad_alloc, or std::bad_array_new_length. Thread safe.
template <class T>
struct allocator {
  using value_type = T;
  static_assert(alignof(T) <= detail::cache_line_bytes);

  allocator() = default;
  template <class U>
  constexpr allocator(const allocator<U>&) noexcept {}
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T)) throw std::bad_array_new_length();
    void* memory = nullptr;
    detail::check(coll_mem_alloc(count * sizeof(T), &memory));
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) noexcept { static_cast<void>(coll_mem_free(memory)); }
  friend constexpr bool operator==(const allocator&, const allocator&) noexcept { return true; }
};

// [size()] of T in memory of coll_mem_alloc(), which peers can read in place. Unlike a vector's, the elements are not
// initialised. Move-only; data() stays valid over a move. The constructor throws as allocator does; a size of 0
// allocates nothing, and data() is then null.
template <Element T>
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t count) : data_(count == 0 ? nullptr : allocator<T>().allocate(count)), size_(count) {}
  Memory(Memory&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  T* data() noexcept { return data_.get(); }
  const T* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return size_; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  T& operator[](std::size_t i) noexcept { return data()[i]; }
  const T& operator[](std::size_t i) const noexcept { return data()[i]; }

 private:
  struct Free {
    void operator()(T* memory) const noexcept { static_cast<void>(coll_mem_free(memory)); }
  };
  std::unique_ptr<T[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace coll
#endif  // COLL_COLL_HPP
