// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "plan/draw.h"
#include "plan/timeline.h"
#include "plan/words.h"

namespace coll::plan {

namespace {

// Viewers do not handle more boxes well; the picture then shows the first ones and says so.
constexpr size_t most_boxes = 40000;
constexpr double left = 78, top = 64, right = 16, bottom = 40;

struct Look {
  const char* name;
  const char* fill;
};

Look look(Kind kind) {
  switch (kind) {
    case Kind::copy: return {"copy", "#4c8dca"};
    case Kind::reduce: return {"reduce", "#e08a3c"};
    case Kind::post: return {"post", "#4fa35f"};
    case Kind::wait: return {"wait", "#d9d9d9"};
    case Kind::publish: return {"publish", "#8e5fb0"};
    default: return {"", "#000000"};
  }
}

std::string escape(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else out += c;
  }
  return out;
}

std::string number(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.1f", value);
  std::string out = text;
  if (out.size() > 2 && out.ends_with(".0")) out.resize(out.size() - 2);
  return out;
}

class Picture {
 public:
  Picture(const Plan& plan, const Timeline& timeline) : plan_(plan), timeline_(timeline) {
    size_t lanes = timeline.first_lane.back();
    row_ = lanes <= 16 ? 26 : lanes <= 48 ? 18 : 11;
    gap_ = lanes <= 48 ? 6 : 2;
    unit_ = std::clamp(1500 / std::max(timeline.end, 1.0), 1.5, 16.0);
    double y = top;
    for (int rank = 0; rank < plan.ranks; ++rank) {
      rank_y_.push_back(y);
      for (uint32_t lane = timeline.first_lane[size_t(rank)]; lane < timeline.first_lane[size_t(rank) + 1]; ++lane) {
        lane_y_.push_back(y);
        y += row_;
      }
      if (timeline.first_lane[size_t(rank)] == timeline.first_lane[size_t(rank) + 1]) y += row_;
      y += gap_;
    }
    height_ = y + bottom;
    width_ = std::max(left + timeline.end * unit_ + right, 760.0);
  }

  std::string draw(const std::string& subtitle) {
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width_) + "\" height=\"" + number(height_) +
           "\" font-family=\"sans-serif\" font-size=\"11\">\n";
    out_ += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    out_ +=
        "<marker id=\"a\" viewBox=\"0 0 6 6\" refX=\"5.5\" refY=\"3\" markerWidth=\"5\" markerHeight=\"5\" "
        "orient=\"auto\"><path d=\"M0 0L6 3L0 6z\" fill=\"#333333\"/></marker>\n";
    std::string title = std::string(name(plan_.collective)) + " " + plan_.algorithm + ", " +
                        std::to_string(plan_.ranks) + " ranks, root " + std::to_string(plan_.root);
    text(10, 20, title, "font-size=\"15\" font-weight=\"bold\"");
    text(10, 36, subtitle, "fill=\"#555555\"");
    draw_legend();
    draw_rows();
    size_t boxes = std::min(timeline_.boxes.size(), most_boxes);
    for (size_t i = 0; i < boxes; ++i) draw_box(timeline_.boxes[i]);
    draw_arrows();
    draw_axis();
    if (boxes < timeline_.boxes.size())
      text(10, height_ - 6,
           "only the first " + std::to_string(boxes) + " of " + std::to_string(timeline_.boxes.size()) +
               " steps are drawn; choose a smaller count",
           "fill=\"#b00020\"");
    return out_ + "</svg>\n";
  }

 private:
  double x(double time) const { return left + time * unit_; }

  void text(double at_x, double at_y, const std::string& what, const char* style) {
    out_ += "<text x=\"" + number(at_x) + "\" y=\"" + number(at_y) + "\" " + style + ">" + escape(what) + "</text>\n";
  }

  void draw_legend() {
    double at = 10;
    for (Kind kind : {Kind::copy, Kind::reduce, Kind::post, Kind::wait, Kind::publish}) {
      out_ += "<rect x=\"" + number(at) + "\" y=\"45\" width=\"11\" height=\"11\" fill=\"" + look(kind).fill + "\"/>";
      text(at + 15, 54.5, look(kind).name, "fill=\"#333333\"");
      at += 68;
    }
    text(at, 54.5, "arrows: from post to wait, dark if the wait was delayed", "fill=\"#333333\"");
  }

  void draw_rows() {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      uint32_t first = timeline_.first_lane[size_t(rank)], last = timeline_.first_lane[size_t(rank) + 1];
      double height = std::max(1u, last - first) * row_;
      double y = rank_y_[size_t(rank)];
      out_ += "<rect x=\"" + number(left) + "\" y=\"" + number(y) + "\" width=\"" + number(width_ - left - right) +
              "\" height=\"" + number(height) + "\" fill=\"" + (rank % 2 == 0 ? "#f4f6f8" : "#eceff2") + "\"/>";
      bool root =
          rank == plan_.root && plan_.collective != Collective::barrier && plan_.collective != Collective::allreduce;
      text(8, y + height / 2 + 4, "rank " + std::to_string(rank) + (root ? " *" : ""),
           root ? "font-weight=\"bold\"" : "fill=\"#222222\"");
      for (uint32_t lane = first; last - first > 1 && row_ >= 18 && lane < last; ++lane)
        text(left - 14, lane_y_[lane] + row_ / 2 + 4, std::to_string(lane - first), "fill=\"#888888\"");
    }
  }

  void draw_box(const Timeline::Box& box) {
    double width = (box.end - box.begin) * unit_;
    double y = lane_y_[box.lane] + 2, height = row_ - 4;
    if (box.kind == Kind::wait) y += height / 3, height /= 3;
    if (box.kind == Kind::publish) width = 2.5;
    out_ += "<rect x=\"" + number(x(box.begin)) + "\" y=\"" + number(y) + "\" width=\"" +
            number(std::max(width - 0.6, 0.8)) + "\" height=\"" + number(height) + "\" fill=\"" + look(box.kind).fill +
            "\"><title>";
    uint32_t lane = box.lane - timeline_.first_lane[size_t(box.rank)];
    const Step& step = plan_.program(box.rank).lanes[lane].steps[box.step];
    out_ += escape("rank " + std::to_string(box.rank) + " lane " + std::to_string(lane) + " step " +
                   std::to_string(box.step) + ", pass " + std::to_string(box.index + 1) + ": " +
                   words(plan_, box.rank, step));
    out_ += "</title></rect>\n";
    bool transfer = box.kind == Kind::copy || box.kind == Kind::reduce;
    if (transfer && width >= 44 && row_ >= 18)
      text(x(box.begin) + 4, lane_y_[box.lane] + row_ / 2 + 4,
           std::string(look(box.kind).name) + " " + std::to_string(box.index + 1), "fill=\"#ffffff\" font-size=\"10\"");
  }

  void draw_arrows() {
    // With more than 400 arrows the picture becomes a grey area, so only arrows to delayed waits are drawn then.
    bool all = timeline_.arrows.size() <= 400;
    size_t held = 0;
    for (const Timeline::Arrow& arrow : timeline_.arrows) held += arrow.held;
    const char* faint = "stroke=\"#9aa0a6\" stroke-opacity=\"0.45\" stroke-width=\"0.6\"";
    const char* strong = held <= 400 ? "stroke=\"#333333\" stroke-width=\"0.9\" marker-end=\"url(#a)\""
                                     : "stroke=\"#333333\" stroke-opacity=\"0.35\" stroke-width=\"0.5\"";
    size_t drawn = 0;
    for (const Timeline::Arrow& arrow : timeline_.arrows) {
      if ((!all && !arrow.held) || ++drawn > most_boxes) continue;
      double from_y = lane_y_[arrow.from_lane] + row_ / 2, to_y = lane_y_[arrow.to_lane] + row_ / 2;
      out_ += "<path d=\"M" + number(x(arrow.from)) + " " + number(from_y) + "L" + number(x(arrow.to)) + " " +
              number(to_y) + "\" fill=\"none\" " + (arrow.held ? strong : faint) + "/>\n";
    }
  }

  void draw_axis() {
    double y = height_ - bottom + 8;
    double every = std::pow(10, std::ceil(std::log10(60 / unit_)));
    if (every * unit_ > 150) every /= 2;
    for (double t = 0; t <= timeline_.end; t += every) {
      out_ += "<path d=\"M" + number(x(t)) + " " + number(y - 4) + "v4\" stroke=\"#888888\"/>";
      text(x(t) - 3, y + 11, number(t), "fill=\"#666666\" font-size=\"9\"");
    }
    text(8, y + 11, "time, units", "fill=\"#666666\" font-size=\"9\"");
  }

  const Plan& plan_;
  const Timeline& timeline_;
  double row_ = 0, gap_ = 0, unit_ = 0, width_ = 0, height_ = 0;
  std::vector<double> rank_y_, lane_y_;
  std::string out_;
};

std::string refusal(const std::string& problem) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"40\" font-family=\"sans-serif\">"
         "<text x=\"10\" y=\"24\" fill=\"#b00020\">" +
         escape(problem) + "</text></svg>\n";
}

}  // namespace

std::string draw_svg(const Plan& plan, const Shape& shape, size_t element_bytes, AccessMode access) {
  Timeline run = timeline(plan, shape, element_bytes, access);
  if (!run.problem.empty()) return refusal(run.problem);
  std::string subtitle = size_words(uint64_t(shape.of({.sender = any_rank, .receiver = any_rank})) * element_bytes);
  if (!plan.parameters.empty()) subtitle += ", " + plan.parameters;
  subtitle += access == AccessMode::staged ? ", views staged" : ", views direct";
  subtitle += "; time units: copy of the largest extent " + number(copy_units) + ", post " + number(post_units) +
              ", flag latency " + number(flag_units);
  return Picture(plan, run).draw(subtitle);
}

}  // namespace coll::plan
