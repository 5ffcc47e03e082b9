#include "run/frames.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "run/process.hpp"

namespace attn::judge {

namespace {

using Frame = std::size_t;

/// "/home/me/course/lessons/01_x/y.cpp:31 (discriminator 2)" as a place in one of the learner's files; none for others.
Place learners_place(const std::string& row, const lesson::Lesson& lesson) {
  const std::string folder = lesson.work_folder + "/" + lesson.name + "/";
  const auto begin = row.find("/" + folder);
  const auto colon = row.rfind(':');
  if (begin == std::string::npos || colon == std::string::npos || colon < begin) return {};
  return {row.substr(begin + 1, colon - begin - 1), std::atoi(row.c_str() + colon + 1)};
}

/// Which of these frames are in the learner's files, and where. Empty without addr2line or debug information.
std::map<Frame, Place> learners_places(const std::set<Frame>& frames, const lesson::Lesson& lesson) {
  constexpr std::size_t most = 60'000;  // bytes that ask() can pass on
  std::string input;
  for (const Frame frame : frames) {
    char text[32];
    std::snprintf(text, sizeof text, "%#zx\n", frame);
    if (input.size() < most) input += text;
  }
  std::map<Frame, Place> places;
  std::istringstream answer(
      ask({"addr2line", "-a", "-i", "-e", "/proc/" + std::to_string(getpid()) + "/exe"}, lesson.root, input, 5).output);
  Frame frame = 0;
  for (std::string row; std::getline(answer, row);) {
    if (row.rfind("0x", 0) == 0) {
      frame = std::strtoull(row.c_str(), nullptr, 16);
    } else if (const Place place = learners_place(row, lesson); place.line > 0) {
      places.emplace(frame, place);  // the innermost, where a call was inlined
    }
  }
  return places;
}

}  // namespace

void find_calls(std::vector<CheckResult>& checks, const lesson::Lesson& lesson) {
  std::set<Frame> frames;
  for (const auto& check : checks) {
    if (const Failure* shown = check.shown()) frames.insert(shown->frames.begin(), shown->frames.end());
  }
  const auto places = frames.empty() ? std::map<Frame, Place>{} : learners_places(frames, lesson);
  for (auto& check : checks) {
    const auto calls = check.shown() == nullptr ? std::vector<Frame>{} : check.shown()->frames;
    for (auto& failure : check.failures) failure.frames.clear();
    const auto found = std::find_if(calls.begin(), calls.end(), [&](Frame frame) { return places.count(frame) != 0; });
    if (found != calls.end()) check.place = places.at(*found);
  }
}

}  // namespace attn::judge
