#include "conformance/sizes/size_rows.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "conformance/sizes/row_format.h"
#include "src/base/file_system.h"

namespace draftmark {
namespace {

class RowChecker {
 public:
  RowChecker(const SizingImplementation& implementation, const std::string& source,
             RowsReport& report)
      : implementation_(implementation), source_(source), report_(report) {}

  void Check(const SizeRow& row) {
    row_ = &row;
    const StatusOr<BufferSizes> sizes = implementation_.sizes(row.config, row.arguments);
    if (row.overflow.has_value()) {
      CheckOverflow(*row.overflow, sizes);
    } else if (!sizes.ok()) {
      Mismatch("from_config", "41 sizes", sizes.status().ToString());
    } else {
      CheckSizes(*row.sizes, *sizes);
      CheckOffsets(*row.sizes);
    }
  }

 private:
  void Mismatch(std::string what, std::string expected, std::string found) {
    report_.mismatches.push_back(
        {source_, row_->name, std::move(what), std::move(expected), std::move(found)});
  }

  void Compare(std::string what, std::uint64_t expected, const StatusOr<std::uint64_t>& found) {
    if (!found.ok()) {
      Mismatch(std::move(what), std::to_string(expected), found.status().ToString());
    } else if (*found != expected) {
      Mismatch(std::move(what), std::to_string(expected), std::to_string(*found));
    }
  }

  void CheckSizes(const ExpectedSizes& expected, const BufferSizes& found) {
    for (const BufferField& field : kBufferFields) {
      Compare("expected." + std::string(field.name), expected.sizes.*field.bytes,
              found.*field.bytes);
    }
    Compare("upstream_total_bytes", expected.upstream_total_bytes,
            implementation_.upstream_total(found));
    Compare("sum_of_41", expected.sum_of_41, implementation_.total(found));
  }

  // Both ways: an offset that only one side has is a mismatch too.
  void CheckOffsets(const ExpectedSizes& expected) {
    const StatusOr<SubLayouts> layouts = implementation_.layouts(row_->config, row_->arguments);
    if (!layouts.ok()) {
      Mismatch("sub_offsets", "offsets", layouts.status().ToString());
      return;
    }
    std::map<std::string, std::uint64_t> found;
    for (const NamedOffset& offset : layouts->Offsets()) found.insert(offset);
    for (const auto& [key, value] : expected.sub_offsets) {
      const auto it = found.find(key);
      if (it == found.end()) {
        Mismatch("sub_offsets." + key, std::to_string(value), "no such offset");
        continue;
      }
      Compare("sub_offsets." + key, value, it->second);
      found.erase(it);
    }
    for (const auto& [key, value] : found) {
      Mismatch("sub_offsets." + key, "no such offset", std::to_string(value));
    }
  }

  void CheckOverflow(const ExpectedOverflow& expected, const StatusOr<BufferSizes>& sizes) {
    if (expected.in_total) {
      if (!sizes.ok()) {
        Mismatch("from_config", "41 sizes (only their sum overflows)", sizes.status().ToString());
        return;
      }
      const StatusOr<std::uint64_t> total = implementation_.total(*sizes);
      CheckOverflowError("total_bytes", expected.field, total.status(),
                         total.ok() ? std::to_string(*total) : "");
    } else {
      CheckOverflowError("from_config", expected.field, sizes.status(),
                         sizes.ok() ? "41 sizes" : "");
    }
  }

  // The spec asks only that an error occurs, since other fields may overflow as well. The names at
  // the start of our message list all of them, so the row's must be among them.
  void CheckOverflowError(std::string where, const std::string& field, const Status& status,
                          const std::string& value) {
    const std::string expected = "an overflow error that names " + field;
    if (status.ok()) {
      Mismatch(std::move(where), expected, value);
      return;
    }
    const std::string_view message = status.message();
    const std::string names = fmt::format(", {},", message.substr(0, message.find(':')));
    if (status.code() != StatusCode::kOutOfRange ||
        names.find(fmt::format(", {},", field)) == std::string::npos) {
      Mismatch(std::move(where), expected, status.ToString());
    }
  }

  const SizingImplementation& implementation_;
  const std::string& source_;
  RowsReport& report_;
  const SizeRow* row_ = nullptr;
};

}  // namespace

std::string RowMismatch::ToString() const {
  return fmt::format("{}: {}: {}: expected {}, found {}", file, row, what, expected, found);
}

StatusOr<RowsReport> CheckSizeRows(const Json& rows, const std::string& source,
                                   const SizingImplementation& implementation) {
  DM_ASSIGN_OR_RETURN(const std::vector<SizeRow> parsed, ParseSizeRows(rows, source));
  RowsReport report;
  RowChecker checker(implementation, source, report);
  for (const SizeRow& row : parsed) {
    checker.Check(row);
    ++report.rows;
  }
  return report;
}

StatusOr<RowsReport> CheckSizeRowsFile(const std::string& path,
                                       const SizingImplementation& implementation) {
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  DM_ASSIGN_OR_RETURN(const Json rows, ParseJson(text, path));
  return CheckSizeRows(rows, path, implementation);
}

}  // namespace draftmark
