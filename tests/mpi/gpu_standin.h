/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests ask of the library that stands in for CUDA's or HIP's. */
#ifndef TESTS_MPI_GPU_STANDIN_H
#define TESTS_MPI_GPU_STANDIN_H

#include <stddef.h>

/* Memory that the processor cannot access. Returns NULL if there is none left. */
void *standin_allocate(size_t bytes);
void standin_free(void *at);
/* 4096 bytes of managed memory, which it can access. */
void *standin_managed(void);
/* As memcpy(), with device or host addresses; not counted. */
void standin_copy(void *to, const void *from, size_t bytes);
/* How often the shim has asked where a buffer is. */
unsigned long standin_queries(void);
/* How many copies the shim has made. */
unsigned long standin_copies(void);
/* How many streams, contexts and devices the shim has left in use. */
int standin_left_open(void);

#endif
