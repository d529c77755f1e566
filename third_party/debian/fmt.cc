// {fmt} compiled once. Debian ships it as a shared library only, and header-only use costs every
// file that includes it 3 seconds (measured; 0.5 with this). These are the instantiations that the
// headers declare `extern`.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template FMT_API dragonbox::decimal_fp<float> dragonbox::to_decimal(float value) noexcept;
template FMT_API dragonbox::decimal_fp<double> dragonbox::to_decimal(double value) noexcept;
template FMT_API locale_ref::locale_ref(const std::locale& locale);
template FMT_API std::locale locale_ref::get<std::locale>() const;
template FMT_API thousands_sep_result<char> thousands_sep_impl(locale_ref);
template FMT_API char decimal_point_impl(locale_ref);
template FMT_API void buffer<char>::append(const char*, const char*);
#if FMT_VERSION < 110000  // no template any more in what Debian forky has
template FMT_API void vformat_to(buffer<char>&, string_view,
                                 basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
#endif

}  // namespace detail
FMT_END_NAMESPACE
