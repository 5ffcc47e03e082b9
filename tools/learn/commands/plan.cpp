#include "learn/commands/plan.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>
#include <stdexcept>

#include "learn/commands/commands.hpp"
#include "learn/memory/history.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

using lesson::Asked;

namespace {

constexpr std::array<Asked, 3> levels = {Asked::often, Asked::sometimes, Asked::rarely};
constexpr int usual_hours_per_day = 2;

/// A lesson, and what is chosen of it.
struct Part {
  const Topic& topic;
  int questions = 0;
  bool is_new = false;
  bool again = false;

  bool is_done() const { return topic.passed || is_new; }
};

Sitting questions_of(const std::string& choice, int count, Sitting::Kind kind) {
  return {count * minutes_per_question, "./learn review " + choice + " --questions " + std::to_string(count), kind};
}

Sitting new_questions(int count) { return questions_of("--new", count, Sitting::Kind::new_questions); }

/// Chooses until the time is used.
class Choosing {
 public:
  Choosing(const std::vector<Topic>& topics, int minutes) : left_(minutes) {
    int often = 0;
    for (const Topic& topic : topics) {
      parts_.push_back({topic});
      often += topic.questions[0];
    }
    const int kept = std::min(minutes / 4, often * minutes_per_question);
    left_ -= kept;
    add_lessons();
    left_ += kept;
    add_blank_page();
    for (std::size_t level = 0; level < levels.size(); ++level) add_questions(level);
  }

  Chosen chosen() const {
    Chosen all;
    auto& sittings = all.sittings;
    int of_passed = 0;
    int of_others = 0;
    for (const auto& part : parts_) {
      const auto& asked = part.topic.questions;
      all.questions_left_out += std::accumulate(asked.begin(), asked.end(), -part.questions);
      all.lessons_left_out += part.is_done() ? 0 : 1;
      if (part.topic.passed) of_passed += part.questions;
      if (!part.is_done()) of_others += part.questions;
    }
    if (of_passed > 0)
      sittings.push_back(questions_of("--all", of_passed, Sitting::Kind::whole));  // it begins with these
    auto lessons = std::count_if(parts_.begin(), parts_.end(), [](const Part& part) { return part.is_new; });
    for (const auto& [topic, questions, is_new, again] : parts_) {
      if (!is_new) continue;
      const auto kind = topic.is_interview ? Sitting::Kind::whole : Sitting::Kind::lesson;
      sittings.push_back({topic.study.minutes, "./learn " + topic.number + " (" + topic.name + ")", kind});
      if (questions > 0) {
        sittings.push_back(questions_of("--lesson " + topic.number, questions, Sitting::Kind::whole));
      }
      const int now =
          of_others / static_cast<int>(lessons--);  // shared out: nobody remembers eighty answers from one evening
      if (now > 0) sittings.push_back(new_questions(now));
      of_others -= now;
    }
    if (of_others > 0) sittings.push_back(new_questions(of_others));
    for (const auto& part : parts_) {
      if (!part.again) continue;
      const std::string what = "from blank: ./learn interview " + part.topic.number;
      sittings.push_back({part.topic.interview_minutes, what, Sitting::Kind::whole});
    }
    return all;
  }

 private:
  /// Less asked lessons only when all that are asked more fit: until then, the time is better spent on questions. Lessons
  /// that need a less asked one come last among those that are asked as much.
  void add_lessons() {
    for (const Asked level : levels) {
      bool all_fit = true;
      for (const bool with_lesser : {false, true}) {
        for (Part& part : parts_) {
          if (part.topic.study.asked != level || part.is_done() || needs_lesser(part) != with_lesser) continue;
          all_fit = add_with_what_it_needs(part) && all_fit;
        }
      }
      if (level == Asked::often) add_again();
      if (!all_fit) return;
    }
  }

  void add_again() {
    for (Part& part : parts_) {
      const Topic& topic = part.topic;
      if (!topic.passed || topic.study.asked != Asked::often || topic.interview_minutes > left_) continue;
      part.again = true;
      left_ -= topic.interview_minutes;
    }
  }

  /// The last of the new lessons that are asked often, once more from blank.
  void add_blank_page() {
    const auto last = std::find_if(parts_.rbegin(), parts_.rend(), [](const Part& part) {
      return part.is_new && part.topic.study.asked == Asked::often;
    });
    if (last == parts_.rend() || last->topic.interview_minutes > left_) return;
    last->again = true;
    left_ -= last->topic.interview_minutes;
  }

  bool needs_lesser(Part& part) {
    std::set<Part*> all;
    collect(part, all);
    return std::any_of(all.begin(), all.end(),
                       [&](const Part* one) { return one->topic.study.asked > part.topic.study.asked; });
  }

  bool add_with_what_it_needs(Part& part) {
    std::set<Part*> all;
    collect(part, all);
    int needed = 0;
    for (const Part* one : all) needed += one->topic.study.minutes;
    if (needed > left_) return false;
    left_ -= needed;
    for (Part* one : all) one->is_new = true;
    return true;
  }

  /// The lesson and those before it that are neither passed nor chosen.
  void collect(Part& part, std::set<Part*>& all) {
    if (part.is_done() || !all.insert(&part).second) return;
    for (Part& other : parts_) {
      const auto& after = part.topic.study.after;
      if (std::find(after.begin(), after.end(), other.topic.number) != after.end()) collect(other, all);
    }
  }

  /// Of lessons that are new or passed first.
  void add_questions(std::size_t level) {
    for (const bool done : {true, false}) {
      for (Part& part : parts_) {
        if (part.is_done() != done) continue;
        const int count = std::min(part.topic.questions.at(level), left_ / minutes_per_question);
        part.questions += count;
        left_ -= count * minutes_per_question;
      }
    }
  }

  std::vector<Part> parts_;
  int left_;  ///< minutes
};

int sum_of(const std::vector<Sitting>& sittings) {
  return std::accumulate(sittings.begin(), sittings.end(), 0,
                         [](int sum, const Sitting& sitting) { return sum + sitting.minutes; });
}

std::vector<Topic> topics_of(const Course& course) {
  std::vector<Topic> topics;
  for (const auto& lesson : all_lessons(course.root)) {
    Topic topic{lesson.number(), lesson.name.substr(3), lesson.study(), false, lesson.interview().minutes, {}};
    topic.passed = is_done(course, lesson);
    topic.is_interview = std::filesystem::exists(lesson.adapter_file());
    const auto& cards = course.store.state().cards;
    for (const auto& question : lesson.questions()) {
      const bool comes_back = !topic.passed && cards.count(card_of(lesson, question)) > 0;  // by itself, when it is due
      ++(comes_back ? topic.coming_back : topic.questions.at(static_cast<std::size_t>(question.asked)));
    }
    topics.push_back(topic);
  }
  return topics;
}

}  // namespace

Chosen choose(const std::vector<Topic>& topics, int minutes) { return Choosing(topics, minutes).chosen(); }

std::string duration_text(int minutes) {
  const std::string hours = minutes < 60 ? "" : std::to_string(minutes / 60) + " h";
  const std::string rest = hours.empty() || minutes % 60 > 0 ? std::to_string(minutes % 60) + " min" : "";
  return hours + (hours.empty() || rest.empty() ? "" : " ") + rest;
}

std::vector<PlannedDay> spread(const std::vector<Sitting>& sittings, Day first, int days) {
  constexpr int worth_a_sitting = 15;  // minutes: less of a sitting is not moved to another day, nor begun
  constexpr int shortest_day = 30;     // minutes
  days = std::clamp(sum_of(sittings) / shortest_day, 1, days);
  const int per_day = (sum_of(sittings) + days - 1) / days;
  std::vector<PlannedDay> planned = {{first, {}}};
  const auto is_last = [&] { return static_cast<int>(planned.size()) == days; };
  for (Sitting sitting : sittings) {
    bool is_rest = false;
    for (int left = per_day - sum_of(planned.back().sittings); !is_last() && sitting.minutes - left > worth_a_sitting;
         left = per_day) {
      if (sitting.kind == Sitting::Kind::whole) {
        if (planned.back().sittings.empty()) break;  // longer than any day
      } else if (left >= worth_a_sitting && sitting.kind == Sitting::Kind::new_questions) {
        const int now = left / minutes_per_question;
        planned.back().sittings.push_back(new_questions(now));
        sitting = new_questions(sitting.minutes / minutes_per_question - now);
      } else if (left >= worth_a_sitting) {
        planned.back().sittings.push_back({left, sitting.what});
        if (!is_rest) sitting.what += ", continued";
        is_rest = true;
        sitting.minutes -= left;
      }
      planned.push_back({first + static_cast<Day>(planned.size()), {}});
    }
    planned.back().sittings.push_back(sitting);
  }
  return planned;
}

int plan(const Course& course, const std::string& until, std::optional<double> hours) {
  if (until.empty()) throw std::invalid_argument("When is the interview? For example: ./learn plan --until Thursday");
  const Day end = named_day(until, today());
  if (end < today()) throw std::invalid_argument(day_text(end) + " is over; name a day from today on");
  const int days = std::max(1, static_cast<int>(end - today()));
  const int minutes = static_cast<int>(std::lround(hours.value_or(usual_hours_per_day * days) * 60));
  const auto topics = topics_of(course);
  const auto [sittings, lessons, questions] = choose(topics, minutes);
  course.print("Until " + weekday_text(end) + " " + day_text(end) + ": " + duration_text(minutes) + " in " +
               counted(days, "day") + ".");
  const int back = std::accumulate(topics.begin(), topics.end(), 0,
                                   [](int sum, const Topic& topic) { return sum + topic.coming_back; });
  if (back > 0) {
    course.print("Begin each day with ./learn review: " + counted(back, "question") +
                 " asked before will be due again.");
  }
  constexpr std::size_t width = 12;  // "  1 h 15 min"
  for (const auto& [day, some] : spread(sittings, today(), days)) {
    course.print("\n" + weekday_text(day) + " " + day_text(day) + ", " + duration_text(sum_of(some)));
    for (const auto& sitting : some) {
      const std::string length = duration_text(sitting.minutes);
      course.print(std::string(width - std::min(width, length.size()), ' ') + length + "  " + sitting.what);
    }
  }
  const int left = minutes - sum_of(sittings);
  if (left >= 15) course.print("\n" + duration_text(left) + " left: ./learn interview --random");
  std::vector<std::string> left_out;
  if (lessons > 0) left_out.push_back(counted(lessons, "lesson"));
  if (questions > 0) left_out.push_back(counted(questions, "question"));
  if (!left_out.empty()) course.print("\nLeft out for lack of time: " + joined(left_out, " and ") + ".");
  return exit_passed;
}

}  // namespace attn::learn
