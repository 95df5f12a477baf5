/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which airport does the airline network miss most? Closes every airport in turn and computes the shortest path
 * between all others: Floyd-Warshall, rows dealt to the ranks in turn, row k broadcast by its owner in step k (as
 * the ASP program of the KNEM work). Plain MPI. Distances are whole metres, so every correct MPI gives the same bits.
 *
 *   mpirun -n 2 apsp DATA_DIRECTORY [batch]
 *
 * `batch` closures advance together, which makes the broadcasts that many times as long (1: 1.2 KB).
 */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_AIRPORTS = 1024, FAR = INT32_MAX / 2, NAMED = 5, WORST = 5 };

struct network {
  int airports;
  char (*code)[4];
  char (*city)[32];
  int32_t *leg; /* [airports][airports] metres of a direct flight, FAR when there is none, 0 on the diagonal */
};

/* The effect of closing one airport (scenario 0 closes none), over all ordered pairs of other airports. */
struct damage {
  int64_t cut_off;      /* pairs without a path */
  int64_t total_metres; /* of the pairs that have one */
  int64_t checksum;
};

struct clock {
  double collectives, compute;
};

static int rank, ranks;

static void fail(const char *what, const char *which) {
  fprintf(stderr, "apsp: %s %s\n", what, which);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *allocate(size_t bytes) {
  void *memory = calloc(1, bytes);
  if (!memory) fail("out of", "memory");
  return memory;
}

static int32_t great_circle_metres(double lat1, double lon1, double lat2, double lon2) {
  const double radian = acos(-1.0) / 180, earth_metres = 6371000;
  double a = sin((lat2 - lat1) * radian / 2), b = sin((lon2 - lon1) * radian / 2);
  return (int32_t)lround(2 * earth_metres * asin(sqrt(a * a + cos(lat1 * radian) * cos(lat2 * radian) * b * b)));
}

static int find(const struct network *net, const char *code) {
  for (int i = 0; i < net->airports; i++)
    if (strcmp(net->code[i], code) == 0) return i;
  return -1;
}

static FILE *open_csv(const char *directory, const char *name) {
  char path[4096], heading[256];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "r");
  if (!file || !fgets(heading, sizeof heading, file)) fail("cannot read", path);
  return file;
}

static void read_network(struct network *net, const char *directory) {
  static double lat[MAX_AIRPORTS], lon[MAX_AIRPORTS];
  char from[8], to[8], line[256];
  FILE *file = open_csv(directory, "airports.csv");
  for (int *n = &net->airports; fgets(line, sizeof line, file); ++*n)
    if (*n == MAX_AIRPORTS ||
        sscanf(line, "%3[^,],%lf,%lf,%31[^,]", net->code[*n], &lat[*n], &lon[*n], net->city[*n]) != 4)
      fail("not an airport (or one too many):", line);
  fclose(file);
  size_t n = (size_t)net->airports;
  net->leg = allocate(n * n * sizeof *net->leg);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) net->leg[i * n + j] = i == j ? 0 : FAR;
  file = open_csv(directory, "routes.csv");
  while (fgets(line, sizeof line, file)) {
    int ok = sscanf(line, "%3[^,],%3[^,],", from, to) == 2, i = ok ? find(net, from) : -1, j = ok ? find(net, to) : -1;
    if (i < 0 || j < 0) fail("not a route between known airports:", line);
    net->leg[(size_t)i * n + (size_t)j] = great_circle_metres(lat[i], lon[i], lat[j], lon[j]);
  }
  fclose(file);
}

/* Rank 0 reads and computes the legs; all get the same bits. */
static void share_network(struct network *net, const char *directory) {
  net->code = allocate(MAX_AIRPORTS * sizeof *net->code);
  net->city = allocate(MAX_AIRPORTS * sizeof *net->city);
  if (rank == 0) read_network(net, directory);
  MPI_Bcast(&net->airports, 1, MPI_INT, 0, MPI_COMM_WORLD);
  int n = net->airports;
  if (rank != 0) net->leg = allocate((size_t)n * (size_t)n * sizeof *net->leg);
  MPI_Bcast(net->code, n * (int)sizeof *net->code, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Bcast(net->leg, n * n, MPI_INT32_T, 0, MPI_COMM_WORLD);
}

/* The leg from i to j while airport `closed` (or -1) is shut. */
static int32_t open_leg(const struct network *net, int i, int j, int closed) {
  return i == j ? 0 : i == closed || j == closed ? FAR : net->leg[(size_t)i * (size_t)net->airports + (size_t)j];
}

/*
 * Rows i = rank, rank + ranks, ... live here, [local row][scenario of the batch][airport], so that one row of all
 * scenarios is one message.
 */
static int32_t *row_of(int32_t *rows, const struct network *net, int batch, int i, int scenario) {
  return rows + ((size_t)(i / ranks) * (size_t)batch + (size_t)scenario) * (size_t)net->airports;
}

static void shorten(int32_t *restrict row, const int32_t *restrict via_row, int32_t via, int n) {
  for (int j = 0; j < n; j++) {
    int32_t metres = via + via_row[j];
    row[j] = metres < row[j] ? metres : row[j];
  }
}

static void floyd_warshall(const struct network *net, int32_t *rows, int32_t *message, int batch, struct clock *clock) {
  int n = net->airports;
  double before = MPI_Wtime(), after;
  for (int k = 0; k < n; k++) {
    int32_t *row_k = k % ranks == rank ? row_of(rows, net, batch, k, 0) : message;
    after = MPI_Wtime();
    clock->compute += after - before;
    MPI_Bcast(row_k, batch * n, MPI_INT32_T, k % ranks, MPI_COMM_WORLD);
    before = MPI_Wtime();
    clock->collectives += before - after;
    for (int i = rank; i < n; i += ranks)
      for (int s = 0; i != k && s < batch; s++) {
        int32_t *row = row_of(rows, net, batch, i, s);
        if (row[k] < FAR) shorten(row, row_k + (size_t)s * (size_t)n, row[k], n);
      }
  }
  clock->compute += MPI_Wtime() - before;
}

/* Legs are positive, so two conditions prove a row: no leg shortens it, and each path ends with a leg. */
static int64_t count_unproved(const struct network *net, const int32_t *row, int i, int closed) {
  int n = net->airports;
  int64_t bad = row[i] != 0;
  for (int j = 0; j < n; j++) {
    int32_t best = FAR;
    for (int k = 0; k < n && j != i; k++) {
      int32_t leg = k == j || row[k] >= FAR ? FAR : open_leg(net, k, j, closed);
      best = leg < FAR && row[k] + leg < best ? row[k] + leg : best;
    }
    bad += j != i && row[j] != best;
  }
  return bad;
}

static void add_row(struct damage *damage, const int32_t *row, int n, int i, int closed) {
  for (int j = 0; j < n; j++) {
    uint64_t mixed = ((uint64_t)i * 0x9e3779b97f4a7c15u ^ (uint64_t)j * 0xc2b2ae3d27d4eb4fu) + (uint64_t)row[j];
    mixed = (mixed ^ mixed >> 31) * 0xd6e8feb86659fd93u;
    damage->checksum = (int64_t)((uint64_t)damage->checksum + (mixed ^ mixed >> 32));
    if (j != closed && i != closed) {
      damage->cut_off += row[j] >= FAR;
      damage->total_metres += row[j] < FAR ? row[j] : 0;
    }
  }
}

/* Sums each scenario's damage over all ranks, and proves every 16th of them. Returns the entries not proved. */
static int64_t assess(const struct network *net, int32_t *rows, struct damage *damage, int first, int batch,
                      struct clock *clock) {
  int n = net->airports;
  int64_t unproved = 0;
  double before = MPI_Wtime();
  for (int s = 0; s < batch; s++)
    for (int i = rank; i < n; i += ranks)
      add_row(&damage[first + s], row_of(rows, net, batch, i, s), n, i, first + s - 1);
  double after = MPI_Wtime();
  clock->compute += after - before;
  MPI_Allreduce(MPI_IN_PLACE, &damage[first], 3 * batch, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  clock->collectives += MPI_Wtime() - after;
  for (int s = 0; s < batch; s++)
    for (int i = rank; i < n && (first + s) % 16 == 0; i += ranks)
      unproved += count_unproved(net, row_of(rows, net, batch, i, s), i, first + s - 1);
  return unproved;
}

/* Some paths of the open network by name, and the two airports furthest apart. */
static void print_paths(const struct network *net, int32_t *rows, int batch) {
  static const char *const named[NAMED][2] = {
      {"BGR", "SAN"}, {"EYW", "BRW"}, {"ACK", "OME"}, {"STT", "LIH"}, {"BTV", "OGG"}};
  int32_t metres[NAMED], all[NAMED];
  struct {
    int metres, pair;
  } furthest = {0, 0}, found;
  int n = net->airports;
  for (int w = 0; w < NAMED; w++) {
    int from = find(net, named[w][0]), to = find(net, named[w][1]);
    metres[w] = from >= 0 && to >= 0 && from % ranks == rank ? row_of(rows, net, batch, from, 0)[to] : FAR;
  }
  for (int i = rank; i < n; i += ranks)
    for (int j = 0; j < n; j++)
      if (row_of(rows, net, batch, i, 0)[j] > furthest.metres && row_of(rows, net, batch, i, 0)[j] < FAR)
        furthest.metres = row_of(rows, net, batch, i, 0)[j], furthest.pair = i * n + j;
  MPI_Reduce(metres, all, NAMED, MPI_INT32_T, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&furthest, &found, 1, MPI_2INT, MPI_MAXLOC, 0, MPI_COMM_WORLD);
  for (int w = 0; rank == 0 && w < NAMED; w++)
    if (all[w] < FAR) printf("way      %s to %s: %.3f km\n", named[w][0], named[w][1], all[w] / 1e3);
  if (rank == 0)
    printf("furthest %s to %s: %.3f km\n", net->code[found.pair / n], net->code[found.pair % n], found.metres / 1e3);
}

static void print_damage(const struct network *net, const struct damage *damage) {
  int n = net->airports, shown[WORST];
  uint64_t checksum = 0;
  printf("open     %lld pairs cut off, mean way %.3f km\n", (long long)damage[0].cut_off,
         (double)damage[0].total_metres / ((double)n * (n - 1) - (double)damage[0].cut_off) / 1e3);
  for (int w = 0; w < WORST; w++) {
    int worst = 0;
    for (int s = 1; s <= n; s++) {
      int seen = 0;
      for (int v = 0; v < w; v++) seen |= shown[v] == s;
      if (!seen &&
          (!worst || damage[s].cut_off > damage[worst].cut_off ||
           (damage[s].cut_off == damage[worst].cut_off && damage[s].total_metres > damage[worst].total_metres)))
        worst = s;
    }
    shown[w] = worst;
    printf("closing  %s (%s) cuts off %lld pairs, mean of the other ways %.3f km\n", net->code[worst - 1],
           net->city[worst - 1], (long long)damage[worst].cut_off,
           (double)damage[worst].total_metres / ((double)(n - 1) * (n - 2) - (double)damage[worst].cut_off) / 1e3);
  }
  for (int s = 0; s <= n; s++) checksum = checksum * 0x100000001b3u + (uint64_t)damage[s].checksum;
  printf("checksum %016llx over %d matrices of %d x %d\n", (unsigned long long)checksum, n + 1, n, n);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int batch = argc == 3 ? atoi(argv[2]) : 1;
  if (argc < 2 || argc > 3 || batch < 1) fail("usage: apsp DATA_DIRECTORY [batch]", "");
  struct network net = {0};
  share_network(&net, argv[1]);
  int n = net.airports, scenarios = n + 1, local = (n + ranks - 1) / ranks;
  struct damage *damage = allocate((size_t)scenarios * sizeof *damage);
  int32_t *rows = allocate((size_t)local * (size_t)batch * (size_t)n * sizeof *rows);
  int32_t *message = allocate((size_t)batch * (size_t)n * sizeof *message);
  struct clock mine = {0, 0}, sum;
  int64_t unproved = 0, all_unproved = 0;
  for (int first = 0; first < scenarios; first += batch) {
    int now = scenarios - first < batch ? scenarios - first : batch;
    for (int i = rank; i < n; i += ranks)
      for (int s = 0; s < now; s++)
        for (int j = 0; j < n; j++) row_of(rows, &net, now, i, s)[j] = open_leg(&net, i, j, first + s - 1);
    MPI_Barrier(MPI_COMM_WORLD);
    floyd_warshall(&net, rows, message, now, &mine);
    unproved += assess(&net, rows, damage, first, now, &mine);
    if (first == 0) print_paths(&net, rows, now);
  }
  MPI_Reduce(&mine, &sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&unproved, &all_unproved, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    print_damage(&net, damage);
    if (all_unproved) printf("WRONG: %lld distances are not shortest\n", (long long)all_unproved);
    else printf("proved   every 16th matrix: all its distances are the shortest\n");
    printf("time     {\"ranks\":%d,\"batch\":%d,\"total_s\":%.4f,\"compute_s\":%.4f,\"collectives_s\":%.4f}\n", ranks,
           batch, (sum.compute + sum.collectives) / ranks, sum.compute / ranks, sum.collectives / ranks);
  }
  free(rows);
  free(message);
  free(damage);
  free(net.leg);
  free(net.code);
  free(net.city);
  MPI_Finalize();
  return all_unproved ? 1 : 0;
}
