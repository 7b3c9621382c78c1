import Foundation

#if os(Linux)
/// Before `main`: at most eight test cases run at once. By default, all of them begin at once and share the few threads
/// of Swift's pool, so each waits minutes for its turn, and its time limits run out meanwhile.
@section(".init_array") @used
private let boundedWidth: @convention(c) () -> Void = {
    unsafe setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "8", 0)
}
#endif
