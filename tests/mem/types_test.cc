// SPDX-License-Identifier: BSD-3-Clause
#include "mem/types.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "reference.h"

namespace coll::mem {
namespace {

TEST(Types, SizesAreThoseOfC) {
  for (coll_datatype type = 1; type < COLL_DATATYPE_END_; ++type) {
    size_t expected = 0;
    coll::test::with_type(type, [&]<typename T>(T) { expected = sizeof(T); });
    EXPECT_EQ(datatype_size(type), expected) << datatype_name(type);
  }
}

TEST(Types, NamesAreUniqueAndReadBack) {
  std::set<std::string> seen;
  for (coll_datatype type = 1; type < COLL_DATATYPE_END_; ++type) {
    ASSERT_NE(datatype_name(type), nullptr) << type;
    EXPECT_TRUE(seen.insert(datatype_name(type)).second) << datatype_name(type);
    EXPECT_EQ(datatype_from_name(datatype_name(type)), type);
  }
  for (coll_op op = 1; op < COLL_OP_END_; ++op) {
    ASSERT_NE(op_name(op), nullptr) << op;
    EXPECT_TRUE(seen.insert(op_name(op)).second) << op_name(op);
    EXPECT_EQ(op_from_name(op_name(op)), op);
  }
  EXPECT_EQ(datatype_from_name("bf16"), datatype_from_name("bfloat16"));
  EXPECT_EQ(datatype_from_name("int"), coll_datatype{COLL_INT});
}

TEST(Types, UnknownOnesAreNamedUnknown) {
  for (coll_datatype type : {0u, uint32_t{COLL_DATATYPE_END_}, 1000u}) {
    EXPECT_EQ(datatype_size(type), 0u);
    EXPECT_EQ(datatype_name(type), nullptr);
    EXPECT_FALSE(op_defined(COLL_SUM, type));
  }
  for (coll_op op : {0u, uint32_t{COLL_OP_END_}, ~0u}) {
    EXPECT_EQ(op_name(op), nullptr);
    EXPECT_FALSE(op_defined(op, COLL_INT));
  }
  EXPECT_EQ(datatype_from_name("flout"), 0u);
  EXPECT_EQ(datatype_from_name(""), 0u);
  EXPECT_EQ(op_from_name("summ"), 0u);
}

TEST(Types, ElementsOfBytes) {
  EXPECT_EQ(datatype_size(COLL_TYPE_BYTES(24)), 24u);
  EXPECT_STREQ(datatype_name(COLL_TYPE_BYTES(24)), "bytes");
  for (coll_op op = 1; op < COLL_OP_END_; ++op) EXPECT_FALSE(op_defined(op, COLL_TYPE_BYTES(4)));
}

}  // namespace
}  // namespace coll::mem
