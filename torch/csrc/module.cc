// SPDX-License-Identifier: BSD-3-Clause
// torch_coll._C: the functions of the backend that the Python package needs.
#include <memory>

#include <pybind11/chrono.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include "backend.h"
#include "memory.h"
#include "worker.h"

namespace py = pybind11;

namespace {

using torch_coll::Backend;
using torch_coll::Base;
using torch_coll::Milliseconds;

c10::intrusive_ptr<Base> create(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, Milliseconds timeout,
                                c10::intrusive_ptr<Base> gloo) {
  return c10::make_intrusive<Backend>(*store, rank, size, timeout, std::move(gloo));
}

bool on_one_node(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size) {
  return torch_coll::on_one_node(*store, rank, size);
}

Backend& backend_of(const c10::intrusive_ptr<Base>& base) {
  auto* const backend = dynamic_cast<Backend*>(base.get());
  TORCH_CHECK(backend != nullptr, "coll: this group is served by ", base->getBackendName());
  return *backend;
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  const py::call_guard<py::gil_scoped_release> without_gil;
  m.def("create", &create, without_gil);
  m.def("on_one_node", &on_one_node, without_gil);
  m.def("set_timeout",
        [](const c10::intrusive_ptr<Base>& base, Milliseconds timeout) { backend_of(base).setTimeout(timeout); });
  m.def(
      "abort", [](const c10::intrusive_ptr<Base>& base) { backend_of(base).abort(); }, without_gil);
  m.def("describe", [](const c10::intrusive_ptr<Base>& base) { return backend_of(base).describe(); });
  m.def("stop_worker", &torch_coll::Worker::stop, without_gil);
  m.def("shared_bytes", &torch_coll::shared_bytes, without_gil);
  m.def("use_for_tensors", &torch_coll::use_for_tensors);
}
