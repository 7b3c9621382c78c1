import CYAML
import RemoteSettingsModel

/// A builder of a tree from the events of libyaml's parser.
@safe struct YAMLComposer: ~Copyable {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeBufferPointer<UInt8>
    private let file: String
    private let canBeJSON: Bool

    /// Creates a composer and starts libyaml's parser.
    ///
    /// - Parameter text: the text, which must remain at its address for as long as the composer is used.
    init(_ text: UnsafeBufferPointer<UInt8>, file: String, canBeJSON: Bool) throws(Failure) {
        unsafe parser = .allocate(capacity: 1)
        unsafe self.text = unsafe text
        self.file = file
        self.canBeJSON = canBeJSON
        guard unsafe yaml_parser_initialize(parser) == 1 else {
            throw Failure(place: file, problem: "there is not enough memory to read the file", remedy: "try again")
        }
        unsafe yaml_parser_set_input_string(parser, text.baseAddress, text.count)
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
    }

    /// Builds the document.
    ///
    /// - Returns: the only document; `nil` if there is none.
    func document() throws(Failure) -> YAMLNode? {
        _ = try next()  // The beginning of the stream.
        if case .end = try next().kind { return nil }
        let root = try node(try next(), depth: 0)
        _ = try next()  // The end of the document.
        let last = try next()
        guard case .end = last.kind else {
            throw error(last, "a second YAML document begins here", "keep only one document in the file")
        }
        return root
    }

    private func node(_ event: Event, depth: Int) throws(Failure) -> YAMLNode {
        guard depth < Limits.jsonDepth else {
            throw error(
                event, "values are nested deeper than \(Limits.jsonDepth) levels",
                "flatten them" + (canBeJSON ? ", or write JSON" : ""))
        }
        switch event.kind {
        case .scalar(let scalar): return event.node(.scalar(scalar))
        case .sequence(let isFlow):
            var elements: [YAMLNode] = []
            while true {
                let next = try next()
                if case .end = next.kind { return event.node(.sequence(elements), isFlow: isFlow) }
                elements.append(try node(next, depth: depth + 1))
            }
        case .mapping(let isFlow):
            var members: [YAMLNode.Member] = []
            var keys: Set<ExactString> = []
            while true {
                let next = try next()
                if case .end = next.kind { return event.node(.mapping(members), isFlow: isFlow) }
                let key = try key(next)
                if let name = key.string, !keys.insert(name.exact).inserted {
                    throw error(next, "\(name) appears twice", "remove one of the two")
                }
                members.append((key, try node(try self.next(), depth: depth + 1)))
            }
        case .alias:
            throw error(
                event, "anchors and aliases (&name, *name) are not supported",
                "write the value itself; put a string that begins with * or & in quotes")
        case .begin, .end: throw error(event, "not YAML: a value is missing", "correct this line")
        }
    }

    private func key(_ event: Event) throws(Failure) -> YAMLNode {
        switch event.kind {
        case .sequence, .mapping: throw error(event, "a key is a list or a mapping", "write a string as the key")
        default: return try node(event, depth: 0)
        }
    }

    private func error(_ event: Event, _ problem: String, _ remedy: String) -> Failure {
        Failure(place: file, line: event.line, problem: problem, remedy: remedy)
    }
}

extension YAMLComposer {
    private struct Event {
        enum Kind {
            /// The start of the stream or of a document.
            case begin
            case scalar(YAMLNode.Scalar)
            case sequence(isFlow: Bool)
            case mapping(isFlow: Bool)
            case alias
            /// The end of the current list, mapping, document or stream.
            case end
        }

        let kind: Kind
        let line: Int
        let range: Range<Int>

        func node(_ content: YAMLNode.Content, isFlow: Bool = false) -> YAMLNode {
            YAMLNode(content: content, line: line, range: range, isFlow: isFlow)
        }
    }

    private func next() throws(Failure) -> Event {
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw failure() }
        defer { unsafe yaml_event_delete(&event) }
        let (start, end) = unsafe (event.start_mark, event.end_mark)
        return unsafe Event(kind: kind(event), line: line(start), range: start.index..<max(start.index, end.index))
    }

    private func line(_ mark: yaml_mark_t) -> Int { mark.line + 1 }

    private func kind(_ event: yaml_event_t) -> Event.Kind {
        switch unsafe event.type {
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            // The tag `!` before an unquoted scalar makes it a string, like quotes (YAML 1.1, section 3.3.2).
            let isText = unsafe scalar.quoted_implicit == 1 && scalar.style == YAML_PLAIN_SCALAR_STYLE
            return unsafe .scalar(
                YAMLNode.Scalar(
                    string: String(decoding: bytes, as: UTF8.self),
                    isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE && !isText,
                    tag: isText ? nil : scalar.tag.map { unsafe String(cString: $0) }))
        case YAML_SEQUENCE_START_EVENT:
            return unsafe .sequence(isFlow: event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE)
        case YAML_MAPPING_START_EVENT:
            return unsafe .mapping(isFlow: event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE)
        case YAML_ALIAS_EVENT: return .alias
        case YAML_STREAM_START_EVENT, YAML_DOCUMENT_START_EVENT: return .begin
        default: return .end
        }
    }

    private func failure() -> Failure {
        let problem = unsafe parser.pointee.problem.map { unsafe String(cString: $0) } ?? "there is not enough memory"
        guard unsafe parser.pointee.error == YAML_READER_ERROR else {
            // The only such characters that people type are tabs, @ and `.
            return Failure(
                place: file, line: unsafe line(parser.pointee.problem_mark), problem: "not YAML: \(problem)",
                remedy: problem.contains("cannot start any token")
                    ? "indent with spaces, not with tabs; put a string that begins with @ or ` in quotes"
                    : "correct this line")
        }
        // After an error, libyaml's marks lag behind its reader, so compute the line from the byte offset.
        let line = unsafe text.span.line(at: parser.pointee.problem_offset, isYAML: true)
        return Failure(place: file, line: line, problem: "not YAML: \(problem)", remedy: "correct this line")
    }
}
