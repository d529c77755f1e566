// A record of the history for people.
#ifndef DRAFTMARK_TOOLS_COMMANDS_HISTORY_SHOW_TEXT_H_
#define DRAFTMARK_TOOLS_COMMANDS_HISTORY_SHOW_TEXT_H_

#include <string>
#include <string_view>

#include "src/base/json.h"
#include "src/perf/history/record.h"

namespace draftmark {

// "sm_90 NVIDIA H200 driver 580.159.04 CUDA 13.0 clocks default".
std::string EnvironmentText(const Environment& environment);

// Header and one line for each item.
std::string ShowText(const std::string& uid, const HistoryRecord& record);

// The lines of a JSONL text as one array.
OrderedJson JsonOfLines(std::string_view text);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_HISTORY_SHOW_TEXT_H_
