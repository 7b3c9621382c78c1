#if canImport(Darwin)
// Backports for older Apple systems: the standard library's `Array.span` requires iOS 26, and its string validation
// requires iOS 18. These declarations shadow the standard library's, as those of any other module would.

extension Array where Element: BitwiseCopyable {
    /// The elements, valid while the array does not change. An array of such elements is never bridged from
    /// Objective-C, so its storage is contiguous.
    package var span: Span<Element> {
        @_lifetime(borrow self)
        borrowing get {
            let elements = unsafe withUnsafeBufferPointer { unsafe $0 }
            return unsafe _overrideLifetime(Span(_unsafeElements: elements), borrowing: self)
        }
    }

    /// The elements, which can be changed in place.
    package var mutableSpan: MutableSpan<Element> {
        @_lifetime(&self)
        mutating get {
            let elements = unsafe withUnsafeMutableBufferPointer { unsafe $0 }
            return unsafe _overrideLifetime(MutableSpan(_unsafeElements: elements), mutating: &self)
        }
    }
}

extension String {
    /// Creates a string from code units; `nil` if they are invalid in the encoding.
    package init?<Encoding: Unicode.Encoding>(
        validating units: some Sequence<Encoding.CodeUnit>, as encoding: Encoding.Type
    ) {
        var units = units.makeIterator()
        var parser = Encoding.ForwardParser()
        self.init()
        while true {
            switch parser.parseScalar(from: &units) {
            case .valid(let scalar): unicodeScalars.append(Encoding.decode(scalar))
            case .emptyInput: return
            case .error: return nil
            }
        }
    }
}
#endif
