#include "src/tensor/safetensors_samples.h"

#include <fmt/format.h>

namespace draftmark {
namespace {

// A file with one entry of one U8 element whose text is `entry`.
std::string OneEntry(std::string_view entry) {
  return SafetensorsBytes(fmt::format("{{\"t\":{}}}", entry), "x");
}

std::string Whole(std::string_view entries, std::string_view data) {
  return SafetensorsBytes(fmt::format("{{{}}}", entries), data);
}

std::vector<SampleFile> MalformedFrames() {
  const std::string valid = Whole(EntryJson("t", "U8", "1", "0,1"), "x");
  return {
      {"empty", "", "truncated: expected at least 8 bytes for the header length, found 0"},
      {"seven_bytes", "1234567",
       "truncated: expected at least 8 bytes for the header length, found 7"},
      {"length_only", SafetensorsBytesWithLength(2, ""),
       "truncated: expected a header of 2 bytes, found 0 bytes after the length"},
      {"header_cut", valid.substr(0, 20),
       "truncated: expected a header of 53 bytes, found 12 bytes after the length"},
      {"length_one_too_far", SafetensorsBytesWithLength(3, "{}"),
       "truncated: expected a header of 3 bytes, found 2 bytes after the length"},
      {"length_huge", SafetensorsBytesWithLength(100'000'001, "{}"),
       "header length: expected at most 100000000 bytes, found 100000001"},
      // Adding the 8 bytes of the length would wrap.
      {"length_wraps", SafetensorsBytesWithLength(0xFFFFFFFFFFFFFFFF, "{}"),
       "header length: expected at most 100000000 bytes, found 18446744073709551615"},
      {"length_limit", SafetensorsBytesWithLength(100'000'000, "{}"),
       "truncated: expected a header of 100000000 bytes, found 2 bytes after the length"},
      {"header_empty", SafetensorsBytes(""),
       "header: expected '{' as the first byte, found an empty header"},
      {"header_array", SafetensorsBytes("[]"),
       "header: expected '{' as the first byte, found byte 0x5b"},
      {"header_leading_space", SafetensorsBytes(" {}"),
       "header: expected '{' as the first byte, found byte 0x20", true},
      {"header_byte_order_mark", SafetensorsBytes("\xEF\xBB\xBF{}"),
       "header: expected '{' as the first byte, found byte 0xef"},
      {"header_unclosed", SafetensorsBytes("{"), "header: not valid JSON at byte 2: "},
      {"header_trailing_text", SafetensorsBytes("{} x"), "header: not valid JSON at byte 4: "},
      {"header_two_objects", SafetensorsBytes("{}{}"), "header: not valid JSON at byte 3: "},
      {"header_trailing_comma", SafetensorsBytes("{\"t\":1,}"),
       "header: not valid JSON at byte 8: "},
      {"header_comment", SafetensorsBytes("{/**/}"), "header: not valid JSON at byte 2: "},
      {"header_zero_padding", SafetensorsBytes(std::string_view("{}\0\0", 4)),
       "header: expected JSON, found a zero byte at byte 2"},
      {"header_hides_text_after_zero", SafetensorsBytes(std::string_view("{}\0{\"t\":1}", 10)),
       "header: expected JSON, found a zero byte at byte 2"},
      {"header_not_utf8", Whole(EntryJson("\xFF", "U8", "1", "0,1"), "x"),
       "header: not valid JSON at byte 3: "},
      {"header_deep", SafetensorsBytes("{\"t\":" + std::string(1000, '[')),
       "header: nested deeper than 64 levels"},
      {"name_twice",
       Whole(EntryJson("t", "U8", "1", "0,1") + "," + EntryJson("t", "U8", "1", "0,1"), "x"),
       "header: t: key given twice, with values an object of 3 keys and an object of 3 keys", true},
      // The same name in two spellings.
      {"name_twice_escaped",
       Whole(EntryJson("t", "U8", "1", "0,1") + "," + EntryJson("\\u0074", "U8", "1", "0,1"), "x"),
       "header: t: key given twice", true},
      {"metadata_twice", SafetensorsBytes(R"({"__metadata__":{},"__metadata__":{}})"),
       "header: __metadata__: key given twice"},
      {"metadata_key_twice", SafetensorsBytes(R"({"__metadata__":{"a":"1","a":"2"}})"),
       R"(header: __metadata__.a: key given twice, with values "1" and "2")", true},
      {"metadata_number", SafetensorsBytes(R"({"__metadata__":{"a":"1","b":2}})"),
       "__metadata__: 'b': expected a string, found 2"},
      // What a message quotes stays on its line.
      {"metadata_key_of_two_lines", SafetensorsBytes(R"({"__metadata__":{"a\nb":[2]}})"),
       R"(__metadata__: 'a\nb': expected a string, found [2])"},
      {"metadata_object", SafetensorsBytes(R"({"__metadata__":{"a":{"b":"c"}}})"),
       "__metadata__: 'a': expected a string, found an object of 1 keys"},
      {"metadata_array", SafetensorsBytes(R"({"__metadata__":[]})"),
       "__metadata__: expected an object of strings, found []"},
      {"metadata_null", SafetensorsBytes(R"({"__metadata__":null})"),
       "__metadata__: expected an object of strings, found null", true},
  };
}

std::vector<SampleFile> MalformedEntries() {
  const std::string dtype_message = "tensor 't': dtype: expected the name of a safetensors dtype, ";
  return {
      {"entry_number", OneEntry("1"),
       "tensor 't': expected an object with dtype, shape and data_offsets, found 1"},
      {"entry_null", OneEntry("null"),
       "tensor 't': expected an object with dtype, shape and data_offsets, found null"},
      {"entry_without_dtype", OneEntry(R"({"shape":[1],"data_offsets":[0,1]})"),
       "tensor 't': dtype: required, but absent"},
      {"entry_without_shape", OneEntry(R"({"dtype":"U8","data_offsets":[0,1]})"),
       "tensor 't': shape: required, but absent"},
      {"entry_without_offsets", OneEntry(R"({"dtype":"U8","shape":[1]})"),
       "tensor 't': data_offsets: required, but absent"},
      {"entry_extra_key", OneEntry(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1})"),
       "tensor 't': expected dtype, shape and data_offsets only, found the key 'x' as well", true},
      {"entry_key_twice",
       OneEntry(R"({"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]})"),
       "header: t.shape: key given twice, with values [1] and [1]"},
      {"dtype_unknown", Whole(EntryJson("t", "F128", "1", "0,1"), "x"),
       dtype_message + "found \"F128\""},
      {"dtype_lower_case", Whole(EntryJson("t", "u8", "1", "0,1"), "x"),
       dtype_message + "found \"u8\""},
      {"dtype_number", OneEntry(R"({"dtype":8,"shape":[1],"data_offsets":[0,1]})"),
       dtype_message + "found 8"},
      {"shape_negative", Whole(EntryJson("t", "U8", "-1", "0,1"), "x"),
       "tensor 't': shape[0]: expected an unsigned integer, found -1"},
      {"shape_fraction", Whole(EntryJson("t", "U8", "1,1.0", "0,1"), "x"),
       "tensor 't': shape[1]: expected an unsigned integer, found 1.0"},
      {"shape_above_64_bits", Whole(EntryJson("t", "U8", "18446744073709551616", "0,1"), "x"),
       "tensor 't': shape[0]: expected an unsigned integer, found 1.84467440737"},
      {"shape_number", OneEntry(R"({"dtype":"U8","shape":1,"data_offsets":[0,1]})"),
       "tensor 't': shape: expected an array of unsigned integers, found 1"},
      {"shape_nested", Whole(EntryJson("t", "U8", "[1]", "0,1"), "x"),
       "tensor 't': shape[0]: expected an unsigned integer, found [1]"},
      {"offsets_negative", Whole(EntryJson("t", "U8", "1", "-1,0"), "x"),
       "tensor 't': data_offsets[0]: expected an unsigned integer, found -1"},
      {"offsets_fraction", Whole(EntryJson("t", "U8", "1", "0,1.5"), "x"),
       "tensor 't': data_offsets[1]: expected an unsigned integer, found 1.5"},
      {"offsets_one", Whole(EntryJson("t", "U8", "1", "0"), "x"),
       "tensor 't': data_offsets: expected [begin, end], found [0]"},
      {"offsets_three", Whole(EntryJson("t", "U8", "1", "0,1,1"), "x"),
       "tensor 't': data_offsets: expected [begin, end], found [0,1,1]"},
      {"offsets_text", OneEntry(R"({"dtype":"U8","shape":[1],"data_offsets":"01"})"),
       "tensor 't': data_offsets: expected an array of unsigned integers, found \"01\""},
  };
}

std::vector<SampleFile> MalformedLayouts() {
  return {
      {"offsets_backwards", Whole(EntryJson("t", "U8", "1", "1,0"), "x"),
       "tensor 't': data_offsets: expected begin <= end, found [1, 0]"},
      {"offsets_past_the_end", Whole(EntryJson("t", "U8", "2", "0,2"), "x"),
       "tensor 't': data_offsets: expected an end within the file's 1 bytes of data, found [0, 2]"},
      {"offsets_huge",
       Whole(EntryJson("t", "U8", "1", "18446744073709551614,18446744073709551615"), "x"),
       "tensor 't': data_offsets: expected an end within the file's 1 bytes of data, found "
       "[18446744073709551614, 18446744073709551615]"},
      {"data_truncated", Whole(EntryJson("t", "F32", "2", "0,8"), "1234567"),
       "tensor 't': data_offsets: expected an end within the file's 7 bytes of data, found [0, 8]"},
      {"size_too_small", Whole(EntryJson("t", "F32", "2", "0,7"), "1234567"),
       "tensor 't': data_offsets [0, 7]: expected 8 bytes for shape [2] of F32, found 7"},
      {"size_too_large", Whole(EntryJson("t", "BF16", "", "0,3"), "123"),
       "tensor 't': data_offsets [0, 3]: expected 2 bytes for shape [] of BF16, found 3"},
      {"size_zero_elements", Whole(EntryJson("t", "U8", "0,5", "0,1"), "x"),
       "tensor 't': data_offsets [0, 1]: expected 0 bytes for shape [0, 5] of U8, found 1"},
      {"size_f4_half_byte", Whole(EntryJson("t", "F4", "3", "0,2"), "12"),
       "tensor 't': data_offsets [0, 2]: shape [3] of F4 takes 12 bits, which are no whole bytes"},
      {"size_f6_bits", Whole(EntryJson("t", "F6_E3M2", "5", "0,4"), "1234"),
       "tensor 't': data_offsets [0, 4]: shape [5] of F6_E3M2 takes 30 bits, which are no whole "
       "bytes"},
      {"product_overflow", Whole(EntryJson("t", "U8", "4294967296,4294967296", "0,0"), ""),
       "tensor 't': data_offsets [0, 0]: the size of shape [4294967296, 4294967296] times 8 bits "
       "of U8 overflows 64 bits"},
      // 2^61 elements of 64 bits wrap to 0 bits: the file would seem to hold them.
      {"width_overflow", Whole(EntryJson("t", "F64", "2305843009213693952", "0,0"), ""),
       "tensor 't': data_offsets [0, 0]: the size of shape [2305843009213693952] times 64 bits of "
       "F64 overflows 64 bits"},
      {"overflow_hidden_by_zero", Whole(EntryJson("t", "U8", "4294967296,4294967296,0", "0,0"), ""),
       "tensor 't': data_offsets [0, 0]: the size of shape [4294967296, 4294967296, 0] times 8 "
       "bits of U8 overflows 64 bits"},
      {"hole_at_the_start", Whole(EntryJson("t", "U8", "1", "1,2"), "xy"),
       "tensor 't': a hole: expected begin 0 (the start of the data), found 1"},
      {"hole_between",
       Whole(EntryJson("b", "U8", "1", "2,3") + "," + EntryJson("a", "U8", "1", "0,1"), "xyz"),
       "tensor 'b': a hole: expected begin 1 (the end of 'a'), found 2"},
      {"overlap",
       Whole(EntryJson("a", "U8", "2", "0,2") + "," + EntryJson("b", "U8", "2", "1,3"), "xyz"),
       "tensor 'b': overlaps 'a': expected begin 2 (the end of 'a'), found 1"},
      {"overlap_of_two_lines",
       Whole(EntryJson("a\\nb", "U8", "2", "0,2") + "," + EntryJson("b", "U8", "2", "1,3"), "xyz"),
       R"(tensor 'b': overlaps 'a\nb': expected begin 2 (the end of 'a\nb'), found 1)"},
      {"same_bytes_twice",
       Whole(EntryJson("a", "U8", "2", "0,2") + "," + EntryJson("b", "U8", "2", "0,2"), "xy"),
       "overlaps"},
      {"empty_inside_another",
       Whole(EntryJson("a", "U8", "2", "0,2") + "," + EntryJson("b", "U8", "0", "1,1"), "xy"),
       "tensor 'b': overlaps 'a': expected begin 2 (the end of 'a'), found 1"},
      {"bytes_after_the_last", Whole(EntryJson("t", "U8", "1", "0,1"), "xyz"),
       "expected 1 bytes of data, the end of the last tensor, found 3 (2 bytes belong to no "
       "tensor)"},
      {"bytes_without_tensor", SafetensorsBytes("{}", "x"),
       "expected 0 bytes of data, the end of the last tensor, found 1 (1 bytes belong to no "
       "tensor)"},
  };
}

}  // namespace

std::string SafetensorsBytesWithLength(std::uint64_t length, std::string_view header,
                                       std::string_view data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xFF);
  return bytes.append(header).append(data);
}

std::string SafetensorsBytes(std::string_view header, std::string_view data) {
  return SafetensorsBytesWithLength(header.size(), header, data);
}

std::string EntryJson(std::string_view name, std::string_view dtype, std::string_view shape,
                      std::string_view offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{}]}})", name, dtype,
                     shape, offsets);
}

std::vector<SampleFile> MalformedSafetensors() {
  std::vector<SampleFile> all = MalformedFrames();
  for (const auto& part : {MalformedEntries(), MalformedLayouts()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<SampleFile> OddSafetensors() {
  return {
      {"no_tensors", SafetensorsBytes("{}"), ""},
      {"padding", SafetensorsBytes("{}      \n\t\r "), ""},
      {"scalar", Whole(EntryJson("t", "U8", "", "0,1"), "x"), ""},
      {"empty_tensor", Whole(EntryJson("t", "F32", "0,3", "0,0"), ""), ""},
      {"empty_with_huge_dimension",
       Whole(EntryJson("t", "U8", "0,18446744073709551615,2", "0,0"), ""), ""},
      {"empty_between",
       Whole(EntryJson("a", "U8", "1", "0,1") + "," + EntryJson("b", "U8", "0", "1,1") + "," +
                 EntryJson("c", "U8", "1", "1,2"),
             "xy"),
       ""},
      {"empty_names", Whole(EntryJson("", "U8", "1", "0,1"), "x"), ""},
      {"path_like_name", Whole(EntryJson("../../etc/passwd", "U8", "1", "0,1"), "x"), ""},
      {"escaped_name", Whole(EntryJson("\\u0000\\\"\\\\\\n", "U8", "1", "0,1"), "x"), ""},
      {"unicode_name", Whole(EntryJson("\xE5\xB1\x82.\xF0\x9F\xA4\x97", "U8", "1", "0,1"), "x"),
       ""},
      {"unaligned",
       Whole(EntryJson("a", "U8", "1", "0,1") + "," + EntryJson("b", "F64", "", "1,9"),
             "x12345678"),
       ""},
      {"order_differs",
       Whole(EntryJson("z", "U8", "1", "0,1") + "," + EntryJson("a", "U8", "1", "1,2"), "xy"), ""},
      {"packed_f4", Whole(EntryJson("t", "F4", "2,2", "0,2"), "xy"), ""},
      {"packed_f6", Whole(EntryJson("t", "F6_E2M3", "4", "0,3"), "xyz"), ""},
      {"bool_two", Whole(EntryJson("t", "BOOL", "1", "0,1"), "\x02"), ""},
      {"metadata_empty", SafetensorsBytes(R"({"__metadata__":{}})"), ""},
      {"metadata_last", Whole(EntryJson("t", "U8", "1", "0,1") + R"(,"__metadata__":{"":""})", "x"),
       ""},
  };
}

}  // namespace draftmark
