#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes airports.csv and routes.csv from `data/airports.csv` and `data/flights-airport.csv` of the npm package
vega-datasets: keeps the routes flown at least once a week on average, and the airports that they serve."""

import csv
import sys
from pathlib import Path

FLIGHTS_A_YEAR = 52


def main(source, target):
    with open(source / "flights-airport.csv", encoding="utf-8") as file:
        routes = [r for r in csv.DictReader(file) if int(r["count"]) >= FLIGHTS_A_YEAR]
    served = {r["origin"] for r in routes} | {r["destination"] for r in routes}
    with open(source / "airports.csv", encoding="utf-8") as file:
        airports = sorted((a for a in csv.DictReader(file) if a["iata"] in served), key=lambda a: a["iata"])
    with open(target / "airports.csv", "w", encoding="utf-8") as file:
        file.write("iata,latitude,longitude,city,state\n")
        for a in airports:
            city = a["city"].replace(",", " ").strip()
            file.write(f'{a["iata"]},{float(a["latitude"]):.5f},{float(a["longitude"]):.5f},{city},{a["state"]}\n')
    with open(target / "routes.csv", "w", encoding="utf-8") as file:
        file.write("origin,destination,flights\n")
        for r in sorted(routes, key=lambda r: (r["origin"], r["destination"])):
            file.write(f'{r["origin"]},{r["destination"]},{r["count"]}\n')
    print(f"{len(airports)} airports, {len(routes)} routes")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} DIRECTORY_WITH_THE_PACKAGE'S_DATA")
    main(Path(sys.argv[1]), Path(__file__).resolve().parent)
