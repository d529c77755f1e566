// Text of unknown origin inside HTML, XML, JSON in a <script>, CSV and OpenMetrics.
//
//   html += "<td>" + HtmlText(case_id) + "</td>";   // element content and quoted attributes
//
// Case ids and messages come from files that anyone may have written. Each function gives text that
// its format reads back as text: no markup, no end of a string, no bytes that a reader refuses.
// Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_MARKUP_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_MARKUP_H_

#include <string>
#include <string_view>

#include "src/base/json.h"

namespace draftmark {

// Valid UTF-8 that a person can see through: control characters and those that turn the direction
// of writing come out as "\u{202e}", bytes that are not UTF-8 as U+FFFD. Line feed and tab too.
std::string VisibleText(std::string_view text);

// VisibleText, with & < > " ' as character references: for HTML and XML alike.
std::string HtmlText(std::string_view text);

// JSON for the inside of a <script type="application/json">: ASCII only, and no '<', so that
// nothing in it can end the element or open a comment.
std::string ScriptJson(const OrderedJson& json);

// A field of RFC 4180: in quotes where it has a comma, a quote or a line break. Bytes stay as they
// are otherwise.
std::string CsvField(std::string_view text);

// The inside of a label's quotes in OpenMetrics: backslash, quote and line feed escaped; bytes that
// are not UTF-8 as U+FFFD.
std::string OpenMetricsLabel(std::string_view text);

// RFC 4648, with padding.
std::string Base64(std::string_view bytes);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_MARKUP_H_
