import ConfigParameters
import Dumps
import RemoteSettingsModel
import SnapshotBundle
import TargetFilter

/// A collector of the records and the metadata of one collection from its source files, and of the problems in them.
struct CollectionBuilder {
    private static let keys = ["metadata", "id-from", "records", "conditions", "parameters", "groups", "$schema"]
    /// Members that a source cannot set, because `publish` sets them.
    private static let reserved = ["id", "bucket", "last_modified", "signature", "signatures"]

    let id: CollectionID
    /// The directory that contains the attachments, possibly in subdirectories.
    let root: String
    var problems = ProblemList()
    /// The paths of the files from which the collection is read.
    var sourceFiles: [String] = []
    private var records: [ExactString: SourceRecord] = [:]
    private var attachments: [SHA256Digest: AttachmentInput] = [:]
    private var metadata: [JSONValue.Member] = []
    private var metadataPlace: (file: String, line: Int)?
    /// The schema in the metadata. Every record must conform to it.
    private var schema: RecordSchema?
    private var schemaBudget: WorkBudget
    private var idMember: String?
    private var hasParameters = false
    /// The attachments, by their paths relative to `root`.
    private var files: [ExactString: RecordAttachment] = [:]
    private var unportable = UnportableNumbers()

    init(id: CollectionID, root: String) {
        self.id = id
        self.root = root
        schemaBudget = RecordSchema.budget
    }

    /// Adds the collection's only source file, or its `collection.yaml`.
    mutating func add(collection node: SourceNode, file: String) {
        if case .list(let records) = node.content {
            for record in records { add(record: record, file: file) }
            return
        }
        guard let members = node.members else {
            problems.add(
                file, node.line, "the file's content cannot be \(node.kind)",
                "write a mapping with records: or parameters:")
            return
        }
        if let member = node["id-from"] {
            if let name = member.string, !name.isEmpty {
                idMember = name
            } else {
                problems.add(
                    file, member.line, "id-from cannot be \(member.kind)", "write the name of the member with the ids")
            }
        }
        // Read the metadata first, because its schema is needed to check the records.
        if let metadata = node["metadata"] { read(metadata: metadata, file) }
        for member in members {
            switch member.key {
            case "metadata": break
            case "records": read(records: member.value, file)
            case "parameters", "groups", "conditions":
                hasParameters = true
                checkNumbers(member.value, file)
            case "id-from", "$schema": break
            default:
                problems.add(
                    file, member.line, "unknown key \(VisibleText.quote(member.key))",
                    "the keys here are \(Self.keys.joined(separator: ", "))")
            }
        }
        if hasParameters {
            var compiler = ParameterCompiler(file: file)
            for parameter in compiler.records(of: node) {
                insert(parameter)
                validate(parameter)
            }
            for problem in compiler.problems.problems { problems.add(problem) }
            problems.notes += compiler.problems.notes
        }
    }

    private mutating func read(metadata node: SourceNode, _ file: String) {
        guard let members = node.members else {
            if !node.isNull {
                problems.add(file, node.line, "metadata cannot be \(node.kind)", "write key: value pairs")
            }
            return
        }
        metadataPlace = (file, node.line)
        for member in members {
            if Self.reserved.contains(member.key) {
                problems.add(file, member.line, "publish sets \(member.key) itself", "remove this line")
            } else {
                checkNumbers(member.value, file)
                metadata.append(.init(key: member.key, value: member.value.json))
                if member.key == "schema" { read(schema: member.value, file) }
            }
        }
    }

    private mutating func read(schema node: SourceNode, _ file: String) {
        do throws(Failure) {
            schema = try RecordSchema(node.json)
        } catch {
            problems.add(file, node.line(at: error.path), "invalid schema: \(error.problem)", error.remedy ?? "")
        }
    }

    /// Checks a record against the schema, and adds a problem for each violation.
    ///
    /// - Parameter line: returns the line number of a path in the record.
    private mutating func validate(_ record: JSONValue, _ id: String, _ file: String, line: ([String]) -> Int) {
        guard let schema, !schemaBudget.isExhausted else { return }
        for violation in schema.violations(of: record, budget: &schemaBudget) {
            let place = violation.place.isEmpty ? "" : " in \(violation.place)"
            problems.add(
                file, line(violation.path),
                "the record \(id) does not match the schema\(place): \(violation.problem)",
                "correct the record, or metadata.schema of the collection")
        }
    }

    private mutating func validate(_ parameter: SourceRecord) {
        guard schema != nil,
            let record = try? JSONValue(parsing: Bytes(utf8: "{\(parameter.members.text)}"))
        else { return }
        validate(record, parameter.id, parameter.file) { _ in parameter.line }
    }

    private mutating func read(records node: SourceNode, _ file: String) {
        switch node.content {
        case .null: break
        case .list(let records): for record in records { add(record: record, file: file) }
        case .mapping(let members):
            for member in members { add(record: member.value, file: file, id: member.key, line: member.line) }
        default:
            problems.add(
                file, node.line, "records cannot be \(node.kind)", "write a list of records, or ID: RECORD pairs")
        }
    }

    /// Adds a record.
    ///
    /// - Parameters:
    ///   - id: the record's id if neither its member `id` nor `id-from` determines one.
    ///   - line: the line number of this id.
    mutating func add(record node: SourceNode, file: String, id given: String? = nil, line: Int? = nil) {
        guard !problems.isFull else { return }
        let line = line ?? node.line
        guard let members = node.members else {
            problems.add(file, line, "a record cannot be \(node.kind)", "write its members as key: value pairs")
            return
        }
        guard let id = identifier(node, given, file, line) else { return }
        var written: [JSONValue.Member] = [.init(key: "id", value: .string(id))]
        for member in members {
            checkNumbers(member.value, file, isSigned: true)
            switch member.key {
            case "id": break
            case "last_modified":
                problems.add(file, member.line, "publish sets last_modified itself", "remove this line")
            case "deleted" where member.value.json == .bool(true):
                problems.add(file, member.line, "deleted: true is not supported", "remove the record instead")
            case "attachment":
                guard let value = attachment(member.value, file) else { continue }
                written.append(.init(key: member.key, value: value))
            case RecordFilter.fieldName:
                checkFilter(member.value, file)
                written.append(.init(key: member.key, value: member.value.json))
            default: written.append(.init(key: member.key, value: member.value.json))
            }
        }
        validate(.object(written), id, file) { $0.isEmpty ? line : node.line(at: $0) }
        let text = JSONText.compact(.object(written))
        insert(SourceRecord(id: id, members: Bytes(text)[1..<text.count - 1], file: file, line: line))
    }

    /// Reports numbers that cannot be published, because records are signed as canonical JSON, which cannot express
    /// them. Signed numbers that some clients write differently are noted.
    private mutating func checkNumbers(_ node: SourceNode, _ file: String, isSigned: Bool = false) {
        switch node.content {
        case .number(let number) where number.canonical == nil:
            problems.add(
                file, node.line, "\(Failure.numberOutOfRange(number.text))",
                "write a smaller number, or a string in quotes")
        case .number(let number): if isSigned { unportable.add(number, file, node.line) }
        case .list(let elements): for element in elements { checkNumbers(element, file, isSigned: isSigned) }
        case .mapping(let members):
            for member in members { checkNumbers(member.value, file, isSigned: isSigned) }
        default: break
        }
    }

    private mutating func insert(_ record: SourceRecord) {
        if let other = records[record.id] {
            problems.add(
                record.file, record.line, "the record in \(other.file):\(other.line) already has the id \(record.id)",
                "change the id of one of them")
        } else {
            records[record.id] = record
        }
    }

    private mutating func identifier(_ node: SourceNode, _ given: String?, _ file: String, _ line: Int) -> String? {
        if let own = node["id"] {
            guard let text = own.string else {
                problems.add(
                    file, own.line, "the id cannot be \(own.kind)",
                    "write a string, in quotes if it looks like a number")
                return nil
            }
            return checked(text, file, own.line)
        }
        if let idMember {
            switch node[idMember]?.content {
            case .string(let text)? where !text.isEmpty: return RecordIdentifier.derived(from: text)
            case .number(let number)?: return RecordIdentifier.derived(from: number.text)
            default:
                problems.add(
                    file, line, "the record has no string or number in \(idMember), from which id-from takes its id",
                    "add one, or give the record an id")
                return nil
            }
        }
        guard let given else {
            problems.add(file, line, "the record has no id", "add id:, or write id-from: MEMBER for all records")
            return nil
        }
        return checked(given, file, line)
    }

    private mutating func checked(_ text: String, _ file: String, _ line: Int) -> String? {
        guard Identifier.isValid(text.utf8) else {
            problems.add(
                file, line, "invalid id \(VisibleText.quote(text))",
                "write a letter or digit, then letters, digits, - and _ (at most 255 characters)")
            return nil
        }
        return text
    }

    private mutating func checkFilter(_ node: SourceNode, _ file: String) {
        guard !node.isNull else { return }
        guard let text = node.string else {
            problems.add(
                file, node.line, "\(RecordFilter.fieldName) cannot be \(node.kind)", "write a filter as a string")
            return
        }
        do throws(Failure) {
            if !text.unicodeScalars.allSatisfy(\.properties.isWhitespace) { _ = try FilterExpression(parsing: text) }
        } catch {
            problems.add(file, node.line, "\(error)", "correct the filter")
        }
    }

    /// Returns the complete collection.
    ///
    /// - Throws: ``Failure`` with all problems.
    func finish() throws(Failure) -> CollectionSource {
        var (problems, unportable) = (problems, unportable)
        let sorted = records.values.sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
        if sorted.count > Limits.records {
            problems.add(root, nil, "there are more than \(Limits.records) records", "split the collection")
        }
        // Estimate the size of the records as they are served, in canonical JSON. Its escapes need up to three times as
        // many bytes as a non-ASCII character.
        var size = 0
        for record in sorted {
            let text = record.members
            size += text.count + 64 + 2 * text.withSpan { span in span.indices.count { span[$0] > 0x7F } }
            guard size > Limits.changesetBytes else { continue }
            problems.add(
                record.file, record.line,
                "the records up to this one are over \(ByteSize.text(UInt64(Limits.changesetBytes))), the most that "
                    + "apps download",
                "split the collection")
            break
        }
        checkMetadata(&problems)
        if attachments.count > Limits.attachments {
            problems.add(root, nil, "there are more than \(Limits.attachments) attachments", "split the collection")
        }
        if hasParameters, size <= Limits.changesetBytes { checkParameters(sorted, &problems, &unportable) }
        guard problems.problems.isEmpty else {
            throw Failure(problems: problems.problems.sorted { ($0.place, $0.line ?? 0) < ($1.place, $1.line ?? 0) })
        }
        return CollectionSource(
            id: id, records: sorted, attachments: attachments, metadata: metadata,
            notes: problems.notes + unportable.notes,
            files: Set(sourceFiles.map(\.exact) + files.keys.map { "\(root)/\($0)".exact }))
    }

    /// Upper bounds for the members that publishing adds to the metadata: the collection's name, its time, and the
    /// largest number of signatures that clients accept.
    private static let signatures = (bytes: 64 << 10, values: 256)

    /// Checks that the metadata leaves enough space for the signatures, which are added later.
    private func checkMetadata(_ problems: inout ProblemList) {
        do throws(Failure) {
            _ = try CollectionMetadata(parsing: Bytes(JSONText.compact(.object(metadata))), reserving: Self.signatures)
        } catch {
            problems.add(
                metadataPlace?.file ?? root, metadataPlace?.line,
                "the metadata, including signatures, is too large: \(error.problem)",
                "move large values into a record or an attachment")
        }
    }

    /// Checks that every record of a remote config collection is a parameter, and the numbers in its value.
    private func checkParameters(
        _ records: [SourceRecord], _ problems: inout ProblemList,
        _ unportable: inout UnportableNumbers
    ) {
        for record in records {
            do throws(Failure) {
                let text = Bytes([UInt8(ascii: "{")] + record.members.array + [UInt8(ascii: "}")])
                let parameter = try ParameterRecord(Record(id: record.id, json: CanonicalJSON.canonicalize(text)))
                guard case .value(let json) = parameter.content, !json.starts(with: "\"".utf8) else { continue }
                unportable.add(numbersIn: try JSONValue(parsing: json), record.file, record.line)
            } catch {
                // Skip numbers that canonical JSON cannot express. They were already reported with their line numbers
                // when they were read.
                if error.code == .overLimit, problems.has(record.file) { continue }
                let isOfParameter = !error.place.isEmpty
                problems.add(
                    record.file, record.line, error.sentence,
                    isOfParameter ? "correct it, or move the record to a different collection" : "correct the value")
            }
        }
    }
}

extension CollectionBuilder {
    /// Returns the `attachment` member as a server sends it, from a path or from a mapping with `file`, `filename` and
    /// `mimetype`.
    private mutating func attachment(_ node: SourceNode, _ file: String) -> JSONValue? {
        if node.isNull { return .null }
        let path: SourceNode
        var (filename, mimetype): (String?, String?)
        if let members = node.members {
            for member in members where !["file", "filename", "mimetype"].contains(member.key) {
                problems.add(
                    file, member.line, "unknown key \(VisibleText.quote(member.key))",
                    "an attachment has file, filename and mimetype; publish adds the rest")
                return nil
            }
            guard let own = node["file"] else {
                problems.add(file, node.line, "the attachment has no file", "add file: with a path")
                return nil
            }
            path = own
            filename = node["filename"]?.string
            mimetype = node["mimetype"]?.string
        } else {
            path = node
        }
        guard let relative = path.string, let found = self.file(relative, path.line, file) else {
            if path.string == nil {
                problems.add(file, path.line, "the attachment cannot be \(path.kind)", "write a path")
            }
            return nil
        }
        return .members([
            "filename": .string(filename ?? found.filename), "hash": .string("\(found.hash)"),
            "location": .string(found.location), "mimetype": .string(mimetype ?? found.mimetype),
            "size": .count(found.size),
        ])
    }

    /// Reads an attachment's file.
    ///
    /// - Returns: `nil` if there is no such file, or if its path is not allowed. A problem is then added.
    private mutating func file(_ relative: String, _ line: Int, _ file: String) -> RecordAttachment? {
        let parts = FileStore.components(of: relative, keepingEmpty: true)
        guard !parts.isEmpty, parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." }),
            !relative.unicodeScalars.contains(where: { $0.value < 0x20 || $0 == "\\" })
        else {
            problems.add(
                file, line, "the path \(VisibleText.quote(relative)) is not inside \(root)",
                "write a path relative to this directory, without . and ..")
            return nil
        }
        if let known = files[relative] { return known }
        let path = "\(root)/\(relative)"
        do throws(Failure) {
            var directory = root
            for part in parts.dropLast() {
                directory += "/\(part)"
                guard try FileStore.isDirectory(directory) else {
                    problems.add(
                        file, line, "there is no directory \(directory)",
                        "create it, or correct the path in the record; links are not followed")
                    return nil
                }
            }
            guard try FileStore.size(path) != nil else {
                problems.add(
                    file, line, "there is no regular file at \(path)",
                    "add the file, or correct its name in the record; links are not followed")
                return nil
            }
            guard try !LargeFilePointer.isAt(path) else {
                problems.add(
                    file, line, "\(path) is \(LargeFilePointer.name), not the attachment", LargeFilePointer.remedy)
                return nil
            }
            let (digest, size) = try FileStore.digestAndSize(of: path)
            guard size <= Limits.attachmentBytes else {
                problems.add(
                    file, line, "\(path) is \(size) bytes, over the limit of \(Limits.attachmentBytes)",
                    "make it smaller")
                return nil
            }
            let name = String(parts[parts.count - 1])
            let ending = name.split(separator: ".", omittingEmptySubsequences: false).dropFirst().last.map {
                String($0)
            }
            let isPlain = ending.map { $0.utf8.count <= 12 && Identifier.isValid($0.utf8) } ?? false
            let location = "\(id.bucket)/\(id.name)/\(digest)" + (isPlain ? ".\(ending ?? "")" : "")
            let attachment = RecordAttachment(
                location: location, hash: digest, size: UInt64(clamping: size), filename: name,
                mimetype: MediaType.of(ending: ending ?? ""))
            attachments[digest] = .file(path: path)
            files[relative] = attachment
            return attachment
        } catch {
            problems.add(file, line, "\(error)", "make the file readable")
            return nil
        }
    }
}

/// The numbers in records that some implementations of canonical JSON write differently, so that their clients reject
/// the signature. Mozilla's server does not accept them.
private struct UnportableNumbers {
    private static let mostNotes = 10

    private var count = 0
    private var found: [String] = []

    mutating func add(_ number: JSONNumber, _ file: String, _ line: Int) {
        if let integer = number.int64, integer.magnitude <= 1 << 53 { return }
        count += 1
        guard count <= Self.mostNotes else { return }
        found.append(
            "\(file):\(line): some clients cannot verify a signature over the number "
                + "\(VisibleText.excerpt(number.text, limit: 40)); write an integer from -2^53 to 2^53, or a string")
    }

    mutating func add(numbersIn value: JSONValue, _ file: String, _ line: Int) {
        switch value {
        case .number(let number): add(number, file, line)
        case .array(let elements): for element in elements { add(numbersIn: element, file, line) }
        case .object(let members): for member in members { add(numbersIn: member.value, file, line) }
        case .null, .bool, .string: break
        }
    }

    var notes: [String] {
        count <= found.count ? found : found + ["\(count - found.count) more numbers are like the last one"]
    }
}

/// The media types of common attachments, by file extension.
enum MediaType {
    static func of(ending: String) -> String {
        switch ending.lowercased() {
        case "svg": "image/svg+xml"
        case "png": "image/png"
        case "jpg", "jpeg": "image/jpeg"
        case "gif": "image/gif"
        case "webp": "image/webp"
        case "avif": "image/avif"
        case "ico": "image/x-icon"
        case "json": "application/json"
        case "pdf": "application/pdf"
        case "txt": "text/plain"
        case "html": "text/html"
        case "css": "text/css"
        case "xml": "application/xml"
        case "zip": "application/zip"
        case "wasm": "application/wasm"
        case "mp3": "audio/mpeg"
        case "mp4": "video/mp4"
        default: "application/octet-stream"
        }
    }
}
