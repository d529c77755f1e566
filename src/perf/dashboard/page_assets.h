// The files of page/ and dygraphs, as embed.py puts them into the program when it is built.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_PAGE_ASSETS_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_PAGE_ASSETS_H_

#include <string_view>

namespace draftmark {

struct PageAssets {
  std::string_view html;    // page/page.html, with the marks that RenderPage fills
  std::string_view style;   // page/page.css
  std::string_view script;  // page/*.js, in the order of the BUILD file
  // Empty where libjs-dygraphs was not installed: the page then shows sparklines alone.
  std::string_view dygraph_style;
  std::string_view dygraph_script;
};

const PageAssets& ThePageAssets();

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_PAGE_ASSETS_H_
