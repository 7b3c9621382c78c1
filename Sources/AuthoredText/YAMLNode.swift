import CYAML
import RemoteSettingsModel

/// A value of a YAML text, with the place at which it begins.
///
/// libyaml splits the text into events. Anchors, aliases, tags and keys that are no texts are refused as they come, so
/// that nothing stands for more than is written.
package struct YAMLNode: Sendable {
    package enum Content: Sendable {
        /// - Parameter isPlain: whether it is neither quoted nor a block.
        case scalar(String, isPlain: Bool)
        case sequence([YAMLNode])
        case mapping(Mapping)
    }

    /// The keys, which are scalars and differ from each other, with their values, in the order of the text.
    package typealias Mapping = [(key: YAMLNode, value: YAMLNode)]

    package let content: Content
    /// Counted from 1.
    package let line: Int
    /// Counted from 1, in Unicode scalars.
    package let column: Int
    /// Whether it is a list or a mapping in brackets.
    package let isFlow: Bool

    /// The text of a scalar.
    package var string: String? { if case .scalar(let text, _) = content { text } else { nil } }

    /// Reads a text that has one document.
    ///
    /// - Parameter file: the name for errors.
    /// - Returns: `nil` if the text has no value.
    /// - Throws: ``ConfigurationError``, with the line if there is one.
    package static func compose(
        _ text: Bytes, file: String, limits: Limits = Limits()
    ) throws(ConfigurationError) -> YAMLNode? {
        // Some editors begin a file with a byte order mark.
        let hasMark = text.count >= 3 && text[0..<3].array == [0xEF, 0xBB, 0xBF]
        let bytes = (hasMark ? text[3..<text.count] : text).array
        return try unsafe bytes.withUnsafeBufferPointer { buffer throws(ConfigurationError) in
            var composer = unsafe try YAMLComposer(buffer, file: file, mostDepth: limits.jsonDepth)
            return try composer.document()
        }
    }
}

/// Makes one value of libyaml's events.
@safe private struct YAMLComposer: ~Copyable {
    /// libyaml keeps this address.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let file: String
    private let mostDepth: Int

    /// - Parameter text: must outlive the composer.
    init(_ text: UnsafeBufferPointer<UInt8>, file: String, mostDepth: Int) throws(ConfigurationError) {
        unsafe parser = .allocate(capacity: 1)
        guard unsafe yaml_parser_initialize(parser) == 1 else {
            unsafe parser.deallocate()
            throw ConfigurationError(file: file, problem: "no memory is left", remedy: "end other programs")
        }
        self.file = file
        self.mostDepth = mostDepth
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(parser, text.baseAddress, text.count)
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
    }

    private func error(_ line: Int?, _ problem: String, _ remedy: String) -> ConfigurationError {
        ConfigurationError(file: file, line: line, problem: problem, remedy: remedy)
    }

    /// What is read of an event. libyaml frees the rest with it.
    private struct Event {
        enum Kind {
            case scalar(String, isPlain: Bool)
            case sequence
            case mapping
            /// The end of a list, of a mapping, or of the document.
            case end
            case alias
            case document
            case streamStart
            case streamEnd
        }

        let kind: Kind
        let tag: String?
        let isFlow: Bool
        let line: Int
        let column: Int
    }

    private mutating func next() throws(ConfigurationError) -> Event {
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw failure() }
        defer { unsafe yaml_event_delete(&event) }
        var (tag, isFlow) = (nil as String?, false)
        let kind: Event.Kind
        switch unsafe event.type {
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            let isPlain = unsafe scalar.style == YAML_PLAIN_SCALAR_STYLE && scalar.plain_implicit != 0
            kind = unsafe .scalar(String(decoding: bytes, as: UTF8.self), isPlain: isPlain)
            unsafe tag = Self.text(scalar.tag)
        case YAML_SEQUENCE_START_EVENT:
            kind = .sequence
            unsafe tag = Self.text(event.data.sequence_start.tag)
            isFlow = unsafe event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
        case YAML_MAPPING_START_EVENT:
            kind = .mapping
            unsafe tag = Self.text(event.data.mapping_start.tag)
            isFlow = unsafe event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
        case YAML_ALIAS_EVENT: kind = .alias
        case YAML_DOCUMENT_START_EVENT: kind = .document
        case YAML_STREAM_START_EVENT: kind = .streamStart
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT, YAML_DOCUMENT_END_EVENT: kind = .end
        default: kind = .streamEnd
        }
        let mark = unsafe event.start_mark
        return Event(
            kind: kind, tag: tag, isFlow: isFlow, line: Int(clamping: mark.line) + 1,
            column: Int(clamping: mark.column) + 1)
    }

    private static func text(_ tag: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        unsafe tag.map { unsafe String(cString: $0) }
    }

    private func failure() -> ConfigurationError {
        let failed = unsafe parser.pointee
        let problem = unsafe failed.problem.map { unsafe String(cString: $0) } ?? "it cannot be read"
        // Bytes that are no text have an offset, and no line.
        let hasLine = unsafe failed.error == YAML_SCANNER_ERROR || failed.error == YAML_PARSER_ERROR
        let line = hasLine ? unsafe Int(clamping: failed.problem_mark.line) + 1 : nil
        return error(line, "not YAML: \(problem)", line == nil ? "correct the file" : "correct this line")
    }

    mutating func document() throws(ConfigurationError) -> YAMLNode? {
        _ = try next()
        guard case .document = try next().kind else { return nil }
        let root = try node(try next(), depth: 0)
        _ = try next()
        let after = try next()
        guard case .streamEnd = after.kind else {
            throw error(after.line, "a second document begins here", "keep one document in the file")
        }
        return root
    }

    private mutating func node(_ event: Event, depth: Int) throws(ConfigurationError) -> YAMLNode {
        guard depth < mostDepth else {
            throw error(event.line, "values nest deeper than \(mostDepth) levels", "flatten them")
        }
        if let tag = event.tag, tag != "tag:yaml.org,2002:str" {
            throw error(event.line, "the tag \(tag) is not supported", "write the value without it")
        }
        let content: YAMLNode.Content
        switch event.kind {
        case .scalar(let text, let isPlain): content = .scalar(text, isPlain: isPlain)
        case .sequence: content = .sequence(try elements(depth: depth + 1))
        case .mapping: content = .mapping(try members(depth: depth + 1))
        case .alias: throw error(event.line, "aliases (*name) are not supported", "write the value out")
        case .end, .document, .streamStart, .streamEnd:
            throw error(event.line, "not YAML: a value is missing", "correct this line")
        }
        return YAMLNode(content: content, line: event.line, column: event.column, isFlow: event.isFlow)
    }

    private mutating func elements(depth: Int) throws(ConfigurationError) -> [YAMLNode] {
        var elements: [YAMLNode] = []
        while true {
            let event = try next()
            if case .end = event.kind { return elements }
            elements.append(try node(event, depth: depth))
        }
    }

    private mutating func members(depth: Int) throws(ConfigurationError) -> YAMLNode.Mapping {
        var members: YAMLNode.Mapping = []
        var names: Set<String> = []
        while true {
            let event = try next()
            if case .end = event.kind { return members }
            switch event.kind {
            case .sequence, .mapping:
                throw error(event.line, "a key is a list or a mapping", "write a text as the key")
            default: break
            }
            let key = try node(event, depth: depth)
            if let name = key.string, !names.insert(name).inserted {
                throw error(key.line, "\(name) appears here a second time", "keep one of them")
            }
            members.append((key, try node(try next(), depth: depth)))
        }
    }
}
