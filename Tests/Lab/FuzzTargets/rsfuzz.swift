// `Tests/Faults/fuzz` builds this with the fuzzer's runtime, which provides `main` and calls the functions below.

private let program = FuzzProgram(FuzzTarget.all)

#if FUZZING
@_silgen_name("LLVMFuzzerMutate")
private func mutateBlindly(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ most: Int) -> Int

@_cdecl("LLVMFuzzerInitialize")
public func initialize(_: UnsafeRawPointer, _: UnsafeRawPointer) -> CInt {
    program.begin()
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    unsafe program.run(UnsafeBufferPointer(start: data, count: size))
    return 0
}

@_cdecl("LLVMFuzzerCustomMutator")
public func mutate(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ most: Int, _ seed: CUnsignedInt) -> Int {
    let most = program.longest(within: most)
    guard seed % 2 == 0 else { return unsafe mutateBlindly(data, min(size, most), most) }
    return unsafe program.mutate(data, size, most: most, seed: UInt64(seed))
}
#else
@main
struct Replay {
    static func main() throws { try program.replay() }
}
#endif
