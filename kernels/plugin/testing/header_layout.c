/* The header alone, as C99 with all warnings, and first: it needs no other in front of it. */
#include "kernels/plugin/draftmark_plugin.h"
/* And twice. */
#include "kernels/plugin/draftmark_plugin.h"
#include "kernels/plugin/testing/header_layout.h"

const size_t* LayoutInC99(size_t* count) {
  static const size_t layout[] = DRAFTMARK_LAYOUT;
  *count = sizeof(layout) / sizeof(layout[0]);
  return layout;
}
