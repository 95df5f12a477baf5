/* SPDX-License-Identifier: BSD-3-Clause */
/* An empty library that is named as that of the standard ABI of MPI 5 is. */
extern int standard_abi_stand_in;
int standard_abi_stand_in;
