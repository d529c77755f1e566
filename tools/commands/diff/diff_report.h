// How a diagnosis and the list of known mistakes are printed.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DIFF_DIFF_REPORT_H_
#define DRAFTMARK_TOOLS_COMMANDS_DIFF_DIFF_REPORT_H_

#include <string>

#include "conformance/diagnosis/diagnose.h"
#include "src/base/json.h"

namespace draftmark {

// Ends with a newline. `dump` is the file's path.
std::string DiagnosisText(const Diagnosis& diagnosis, const std::string& dump);
OrderedJson DiagnosisJson(const Diagnosis& diagnosis, const std::string& dump);

std::string MistakesText();
OrderedJson MistakesJson();

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DIFF_DIFF_REPORT_H_
