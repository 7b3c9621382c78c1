import Foundation

#if os(Linux)
/// Runs before `main` and limits testing to eight cases at a time. By default, all cases start at once and share the
/// few threads of Swift's pool, so each waits minutes for its turn and exceeds its time limit.
@section(".init_array") @used
private let boundedWidth: @convention(c) () -> Void = {
    unsafe setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "8", 0)
}
#endif
