/* The layout of the interface's structs as one compiler sees it. */
#ifndef DRAFTMARK_KERNELS_PLUGIN_TESTING_HEADER_LAYOUT_H_
#define DRAFTMARK_KERNELS_PLUGIN_TESTING_HEADER_LAYOUT_H_

#include "kernels/plugin/draftmark_plugin.h"

#define DRAFTMARK_LAYOUT_OF(type, last) sizeof(type), offsetof(type, last)
#define DRAFTMARK_LAYOUT                                                                         \
  {                                                                                              \
    DRAFTMARK_LAYOUT_OF(draftmark_message, capacity),                                            \
        DRAFTMARK_LAYOUT_OF(draftmark_number, value),                                            \
        DRAFTMARK_LAYOUT_OF(draftmark_operand, strides),                                         \
        DRAFTMARK_LAYOUT_OF(draftmark_call, stream), DRAFTMARK_LAYOUT_OF(draftmark_limit, most), \
        DRAFTMARK_LAYOUT_OF(draftmark_operation, run),                                           \
        DRAFTMARK_LAYOUT_OF(draftmark_weight, shape),                                            \
        DRAFTMARK_LAYOUT_OF(draftmark_session_options, weight_count),                            \
        DRAFTMARK_LAYOUT_OF(draftmark_stage, data),                                              \
        DRAFTMARK_LAYOUT_OF(draftmark_stage_sink, emit),                                         \
        DRAFTMARK_LAYOUT_OF(draftmark_block, confidences),                                       \
        DRAFTMARK_LAYOUT_OF(draftmark_session_table, destroy),                                   \
        DRAFTMARK_LAYOUT_OF(draftmark_plugin, session)                                           \
  }

#ifdef __cplusplus
extern "C" {
#endif
/* As a C99 compiler sees it: `count` numbers. */
const size_t* LayoutInC99(size_t* count);
#ifdef __cplusplus
}
#endif

#endif /* DRAFTMARK_KERNELS_PLUGIN_TESTING_HEADER_LAYOUT_H_ */
