#include "kernels/device/arguments.h"
#include "kernels/device/dependent_launch.cuh"
#include "kernels/row_squares/row_squares.h"
#include "kernels/row_squares/row_squares_traits.h"
#include "kernels/row_squares/sm80_row_squares.cuh"

namespace draftmark::kernels {

Status LaunchRowSquares(const RowSquaresArgs& args, cudaStream_t stream) {
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(ArgumentCheck("row_squares")
                         .Size("rows", args.rows)
                         .Size("width", args.width)
                         .Pointer("x", args.x)
                         .Pointer("sums", args.sums)
                         .status());
  auto* const kernel =
      CanVectorise({args.x}, {args.width}) ? RowSquaresKernel<true> : RowSquaresKernel<false>;
  return LaunchDependent("row_squares", kernel, dim3(Blocks(args.rows, 1)),
                         dim3(RowSquaresTraits::kThreads), 0, stream, args);
}

}  // namespace draftmark::kernels
