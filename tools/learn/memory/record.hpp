#pragma once

#include "learn/machine/verdict.hpp"
#include "learn/memory/state.hpp"
#include "lesson/lesson.hpp"

/// What happened, written down in the state.
namespace attn::learn {

/// The name of a question's card in the state.
std::string card_of(const lesson::Lesson& lesson, const lesson::Question& question);

/// Notes a verdict down: how often judged, passed or not, which mistakes were named; and on a first pass, what there
/// will be to repeat.
void record(Store& store, const lesson::Lesson& lesson, const Verdict& verdict);

/// Notes down that hints of this level were read.
void note_hint(Store& store, const lesson::Lesson& lesson, int level);

/// Records an interview that is over: its grade, and what there will be to repeat. One that did not pass is due again
/// on the same day.
/// @param share_of_checks that passed when they ran last
void record(Store& store, const lesson::Lesson& lesson, const InterviewRecord& interview, double share_of_checks);

}  // namespace attn::learn
