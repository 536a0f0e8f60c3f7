// Formats numbers and times for the window.
#pragma once

#include <cstdint>
#include <string>

namespace autodist::top {

// Three or four digits: "0.067", "1.47", "15.3", "1,180".
std::string Short(double value);
// A metric: "2.054", "3e-05".
std::string MetricText(double value);
// "1.40".
std::string Relative(double value);
// "1980".
std::string Whole(double value);
// "62" of 0.62.
std::string Percent(double share);
// "4 h 19 min", "41 s".
std::string Span(int64_t milliseconds);
// Local time of milliseconds since 1970: "14:36:22"; "14:36".
std::string Clock(int64_t time_ms);
std::string ClockMinute(int64_t time_ms);
// "8.3 GB/s".
std::string Speed(double bytes_per_second);
// "62.3".
std::string Gigabytes(double bytes);

// A bar of at most `columns` columns: "━━━╸".
std::string BarText(double share, int columns);
// One of "▁▂▃▄▅▆▇"; ' ' for none. Never "█", so that rows stay separate.
uint32_t Level(double share);

}  // namespace autodist::top
