import RemoteSettingsModel

/// A value of a YAML document as written. It is never converted to a number, a date or another type.
package struct YAMLNode: Sendable {
    package enum Content: Sendable {
        case scalar(Scalar)
        case sequence([YAMLNode])
        case mapping([Member])
    }

    package struct Scalar: Sendable {
        let string: String
        /// Whether the scalar is plain, that is, neither quoted nor a block scalar.
        let isPlain: Bool
        /// The tag before the scalar; `nil` if there is none.
        let tag: String?
    }

    /// A member of a mapping. The key is a scalar, and keys are unique in their mapping.
    package typealias Member = (key: YAMLNode, value: YAMLNode)

    let content: Content
    /// The line, starting with 1.
    let line: Int
    /// The range of a scalar, or of the start of a list or mapping. Like libyaml, it counts the Unicode scalars of the
    /// text without a byte order mark.
    let range: Range<Int>
    /// Whether the value is a list or mapping in brackets.
    let isFlow: Bool

    /// The string of a scalar; `nil` for a list or a mapping.
    var string: String? { if case .scalar(let scalar) = content { scalar.string } else { nil } }

    /// Returns the value of a mapping's key; `nil` if there is none.
    package subscript(key: String) -> YAMLNode? { members?.first { $0.key.string?.exact == key.exact }?.value }

    /// The members of a mapping; `nil` for a list or a scalar.
    var members: [Member]? { if case .mapping(let members) = content { members } else { nil } }

    /// Parses a document. Does no I/O.
    ///
    /// The tree is never larger than the text, because aliases are refused, and so are keys that are lists or mappings.
    ///
    /// - Parameters:
    ///   - text: UTF-8, with or without a byte order mark.
    ///   - file: the file's name, for errors.
    ///   - canBeJSON: whether the file could be JSON instead, which some remedies then suggest.
    /// - Returns: `nil` if the text contains no document.
    /// - Throws: ``Failure`` with the line of the problem.
    static func composed(_ text: Bytes, file: String, canBeJSON: Bool) throws(Failure) -> YAMLNode? {
        try refuseDirectives(text, file: file)
        // The events contain pointers into the buffer, so it must exist until the tree is complete.
        return try unsafe text.array.withUnsafeBufferPointer { (buffer) throws(Failure) in
            try unsafe YAMLComposer(buffer, file: file, canBeJSON: canBeJSON).document()
        }
    }

    /// The maximum number of lines that begin with a percent sign.
    private static let mostDirectives = 16

    /// Refuses a text with many directives. libyaml compares each `%TAG` with all earlier ones, so a few megabytes of
    /// them would take minutes to parse.
    private static func refuseDirectives(_ text: Bytes, file: String) throws(Failure) {
        let refused = text.withSpan { span -> Int? in
            var (position, count, isLineStart) = (0, 0, true)
            while position < span.count {
                if isLineStart, span[position] == UInt8(ascii: "%") { count += 1 }
                if count > mostDirectives { return span.line(at: position, isYAML: true) }
                let end = span.lineEnd(at: position, isYAML: true)
                // A byte order mark is ignored at the start of a line.
                isLineStart =
                    end > 0
                    || (position >= 2 && span[position] == 0xBF && span[position - 1] == 0xBB
                        && span[position - 2] == 0xEF)
                position += max(end, 1)  // bounded: by the text
            }
            return nil
        }
        guard let refused else { return }
        throw Failure(
            place: file, line: refused, problem: "more than \(mostDirectives) lines begin with %",
            remedy: "remove the directives; indent such lines if they belong to a string")
    }
}
