#include "learn/memory/history.hpp"

#include <algorithm>

#include "learn/memory/answers.hpp"

namespace attn::learn {

using lesson::Lesson;

namespace {

Card from_tomorrow() {
  Card card;
  card.due = today() + 1;
  return card;
}

void add_questions(State& state, const Lesson& lesson, const std::vector<lesson::Question>& questions) {
  for (const auto& question : questions) state.cards.try_emplace(card_of(lesson, question), from_tomorrow());
}

}  // namespace

int days_in_a_row(const std::set<std::string>& days, Day today) {
  Day day = today;
  if (days.count(day_text(day)) == 0) --day;
  int count = 0;
  while (days.count(day_text(day)) != 0) {
    ++count;
    --day;
  }
  return count;
}

Tries interviews_of(const State& state, const std::string& lesson) {
  Tries tries;
  for (const auto& interview : state.interviews) {
    if (interview.lesson != lesson) continue;
    ++tries.attempts;
    if (!interview.passed) continue;
    ++tries.passed;
    if (tries.passed > 1 && interview.minutes >= tries.best_minutes) continue;
    tries.best_minutes = interview.minutes;
    tries.best_on = interview.when.substr(0, std::string("2026-11-21").size());
  }
  return tries;
}

int grade_of(const InterviewRecord& interview, double share_of_checks) {
  if (!interview.passed) return share_of_checks >= 0.5 ? 2 : 1;
  if (interview.minutes > interview.limit) return 3;
  return interview.checks <= 1 ? 5 : 4;
}

// -------------------------------------------------------------------------------------------------- writing it down

std::string card_of(const Lesson& lesson, const lesson::Question& question) {
  return lesson.name + ": " + question.text;
}

void record(Store& store, const Lesson& lesson, const Verdict& verdict) {
  if (verdict.kind == Verdict::Kind::stopped || verdict.kind == Verdict::Kind::not_judged) return;
  const std::string text = fingerprint(lesson);
  const auto questions = lesson.questions();
  store.update(
      [&](State& state) {
        LessonRecord& record = state.lessons[lesson.name];
        state.current = lesson.name;
        record.judged_text = text;
        if (verdict.kind == Verdict::Kind::not_compiled) return;  // says nothing about what is in the files
        ++record.checks;
        record.passing = verdict.kind == Verdict::Kind::passed;
        const auto named = verdict.report.named();
        for (const auto& id : named) {  // once, however often the text is judged before it is fixed
          const auto& known = record.named;
          if (std::find(known.begin(), known.end(), id) == known.end()) ++record.mistakes[id];
        }
        record.named = named;
        if (!record.passing) return;
        record.passed_text = text;
        if (!record.first_passed.empty()) return;
        record.first_passed = now_text();
        state.cards.try_emplace(lesson.name, from_tomorrow());
        add_questions(state, lesson, questions);
      },
      true);
}

void note_hint(Store& store, const Lesson& lesson, int level) {
  if (store.state().record_of(lesson.name).hint_level >= level) return;
  store.update([&](State& state) {
    int& highest = state.lessons[lesson.name].hint_level;
    highest = std::max(highest, level);
  });
}

void record(Store& store, const Lesson& lesson, const InterviewRecord& interview, double share_of_checks) {
  const int grade = grade_of(interview, share_of_checks);
  const auto questions = lesson.questions();
  store.update(
      [&](State& state) {
        state.interviews.push_back(interview);
        for (const auto& id : interview.mistakes) ++state.lessons[lesson.name].mistakes[id];
        Card& card = state.cards[lesson.name];
        card = answered(card, grade, today());
        if (!interview.passed) card.due = today();
        add_questions(state, lesson, questions);
      },
      true);
}

}  // namespace attn::learn
