#if canImport(Darwin)
    // What Swift has for older systems everywhere but on Apple's: there `Array.span` needs iOS 26, and validating a
    // text iOS 18. The compiler takes a declaration of another module before Swift's own.

    extension Array where Element: BitwiseCopyable {
        /// The elements, for as long as the array is not changed. An array of such elements is never one of
        /// Objective-C's.
        package var span: Span<Element> {
            @_lifetime(borrow self)
            borrowing get {
                let elements = unsafe withUnsafeBufferPointer { unsafe $0 }
                return unsafe _overrideLifetime(Span(_unsafeElements: elements), borrowing: self)
            }
        }

        /// The elements, to be changed in place.
        package var mutableSpan: MutableSpan<Element> {
            @_lifetime(&self)
            mutating get {
                let elements = unsafe withUnsafeMutableBufferPointer { unsafe $0 }
                return unsafe _overrideLifetime(MutableSpan(_unsafeElements: elements), mutating: &self)
            }
        }
    }

    extension String {
        /// The text of code units; `nil` if they are not valid in the encoding.
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
