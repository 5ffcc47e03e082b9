// mutate ROOT NN FILE OUTPUT: writes a file of a lesson's solution with all its mistakes in it, of which ATTN_MISTAKE_NN
// chooses one.
//
// These are the gate's own mutants, without the rest of the gate. Each lesson has a variable of its own, because ids are
// unique within a lesson only.
#include <fstream>
#include <iostream>

#include "gate/mutants.hpp"
#include "lesson/text.hpp"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "expected ROOT NN FILE OUTPUT\n";
    return 2;
  }
  const attn::lesson::Lesson lesson = attn::lesson::find_lesson(argv[1], argv[2]);
  std::ofstream output(argv[4]);
  output << attn::replaced(attn::gate::mutate_all(lesson, argv[3]), "\"ATTN_MISTAKE\"",
                           "\"ATTN_MISTAKE_" + lesson.name.substr(0, 2) + "\"");
  return output.flush() ? 0 : 1;
}
