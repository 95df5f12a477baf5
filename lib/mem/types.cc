// SPDX-License-Identifier: BSD-3-Clause
#include "mem/types.h"

#include <array>
#include <utility>

namespace coll::mem {
namespace {

constexpr std::pair<std::string_view, coll_datatype> aliases[] = {
    {"char", COLL_CHAR},      {"short", COLL_SHORT},       {"int", COLL_INT},
    {"long", COLL_LONG},      {"unsigned", COLL_UNSIGNED}, {"unsigned_long", COLL_UNSIGNED_LONG},
    {"fp16", COLL_FLOAT16},   {"half", COLL_FLOAT16},      {"bf16", COLL_BFLOAT16},
    {"fp32", COLL_FLOAT},     {"float32", COLL_FLOAT},     {"fp64", COLL_DOUBLE},
    {"float64", COLL_DOUBLE},
};

constexpr std::array<const char*, COLL_OP_END_> op_names = {nullptr, "sum",  "prod", "min",  "max",    "land",  "lor",
                                                            "lxor",  "band", "bor",  "bxor", "minloc", "maxloc"};

constexpr bool is_bytes(coll_datatype type) { return type >> 31 != 0; }

}  // namespace

size_t datatype_size(coll_datatype type) {
  if (is_bytes(type)) return type & 0x7fffffffu;
  return type < COLL_DATATYPE_END_ ? detail::types[type].size_bytes : 0;
}

const char* datatype_name(coll_datatype type) {
  if (is_bytes(type)) return "bytes";
  return type < COLL_DATATYPE_END_ ? detail::types[type].name : nullptr;
}

coll_datatype datatype_from_name(std::string_view name) {
  for (coll_datatype type = 1; type < COLL_DATATYPE_END_; ++type)
    if (name == detail::types[type].name) return type;
  for (const auto& [alias, type] : aliases)
    if (name == alias) return type;
  return 0;
}

const char* op_name(coll_op op) { return op < COLL_OP_END_ ? op_names[op] : nullptr; }

coll_op op_from_name(std::string_view name) {
  for (coll_op op = 1; op < COLL_OP_END_; ++op)
    if (name == op_names[op]) return op;
  return 0;
}

}  // namespace coll::mem
