import RemoteSettingsModel

/// A change of one setting in `dumps.yaml`, with the values as written in the file.
struct SettingChange: Hashable, Sendable {
    /// The setting's path, such as `trust.roots` or `collections.main/markets.pin`.
    let name: String
    /// The old value; `nil` if it was not set.
    let old: String?
    let new: String?

    /// Returns all settings that differ, sorted by name.
    static func changes(from old: DumpsConfiguration, to new: DumpsConfiguration) -> [SettingChange] {
        let (before, after) = (old.settings, new.settings)
        return Set(before.keys).union(after.keys).sorted().compactMap { name in
            before[name] == after[name]
                ? nil : SettingChange(name: name.string, old: before[name]?.string, new: after[name]?.string)
        }
    }
}

extension DumpsConfiguration {
    /// The settings by name, without those that are unset.
    fileprivate var settings: [ExactString: ExactString] {
        var settings: [ExactString: ExactString] = ["server": server.exact, "attachments": attachments.text.exact]
        func set(_ name: String, _ value: (some CustomStringConvertible)?) {
            settings[name] = value.map { "\($0)".exact }
        }
        set("requires", requires)
        if allowsPlainHTTP { set("allow-plain-http", "true") }
        if !trust.roots.isEmpty { set("trust.roots", trust.roots.map(\.hex).joined(separator: ", ")) }
        set("trust.signer", trust.signer)
        if trust.acceptsUnsigned { set("trust.accept-unsigned", "true") }
        if compression == .stored { set("compression", "stored") }
        set("budget.bundle", budget.bundle)
        set("budget.attachment", budget.attachment)
        set("budget.total", totalBudget)
        for guarding in guards.settings { set("guards.\(guarding.name.rawValue)", guarding.value) }
        for collection in collections {
            let name = "collections.\(collection.id)"
            set(name, "listed")
            if collection.attachments != attachments { set("\(name).attachments", collection.attachments.text) }
            if collection.compression != compression {
                set("\(name).compression", collection.compression == .stored ? "stored" : "deflate")
            }
            if collection.budget.bundle != budget.bundle { set("\(name).budget.bundle", collection.budget.bundle) }
            if collection.budget.attachment != budget.attachment {
                set("\(name).budget.attachment", collection.budget.attachment)
            }
            let (own, general) = (collection.guards.settings, guards.settings)
            for guarding in Guards.Name.allCases {
                let value = own.first { $0.name == guarding }?.value
                guard value != general.first(where: { $0.name == guarding })?.value else { continue }
                set("\(name).guards.\(guarding.rawValue)", value ?? "off")
            }
            if let known = collection.acknowledged {
                let terms = ["\(known.kind.rawValue) until \(Pin.dateText(known.until))", known.reason].compactMap(
                    \.self)
                set("\(name).acknowledged", terms.joined(separator: ", "))
            }
            guard let pin = collection.pin else { continue }
            let terms = [pin.until.map { "until \(Pin.dateText($0))" }, pin.reason].compactMap(\.self)
            set("\(name).pin", (["\(pin.at) (\(pin.at.rfc3339.prefix(10)))"] + terms).joined(separator: ", "))
        }
        return settings
    }
}
