import RemoteSettingsModel

/// The names and preferences that an expression can refer to.
package struct FilterContext: Sendable, Equatable {
    package let root: FilterObject
    package let preferences: FilterPreferences

    /// Creates a context.
    ///
    /// - Parameter root: the names that an expression can start with: the record itself for a rule over records
    ///   (``init(record:limits:)``), or `{env: …}` for an app, which `app(…)` creates.
    package init(root: FilterObject, preferences: FilterPreferences = FilterPreferences()) {
        self.root = root
        self.preferences = preferences
    }

    /// The context of an app that provides no information about itself: `{env: {}}`.
    package static let empty = FilterContext(root: FilterObject([(key: "env", value: .object(FilterObject()))]))

    /// Creates the environment that the filters of Mozilla's collections use.
    ///
    /// It contains `channel`, `version`, `locale`, `formFactor`, `country`, `distribution`, `appinfo.ID` and
    /// `appinfo.OS`. It contains `os.{name,version}`, as in Mozilla's guide, and `appinfo.os.{name,version}`, as in
    /// Mozilla's mobile client. `os.isWindows`, `os.isMac` and `os.isLinux` are derived from the name, as in Gecko.
    /// Arguments that are `nil` are `undefined` in filters.
    ///
    /// - Parameter custom: additional members of `env`. As in Mozilla's mobile client, they override the members above.
    package static func app(
        channel: String? = nil, version: String? = nil, locale: String? = nil, formFactor: String? = nil,
        country: String? = nil, distribution: String? = nil, appID: String? = nil, os: String? = nil,
        osVersion: String? = nil, custom: [ExactString: FilterValue] = [:],
        preferences: FilterPreferences = FilterPreferences()
    ) -> FilterContext {
        func text(_ value: String?) -> FilterValue { value.map(FilterValue.string) ?? .undefined }
        func isSystem(_ name: String) -> FilterValue { os.map { .bool($0.exact == name.exact) } ?? .undefined }
        let system: FilterObject = ["name": text(os), "version": text(osVersion)]
        var described = system
        described["isWindows"] = isSystem("WINNT")
        described["isMac"] = isSystem("Darwin")
        described["isLinux"] = isSystem("Linux")
        var env = FilterObject()
        env["channel"] = text(channel)
        env["version"] = text(version)
        env["locale"] = text(locale)
        env["formFactor"] = text(formFactor)
        env["country"] = text(country)
        env["distribution"] = text(distribution)
        env["os"] = .object(described)
        env["appinfo"] = ["ID": text(appID), "OS": text(os), "os": .object(system)]
        for (name, value) in custom.sorted(by: { $0.key < $1.key }) { env[name.string] = value }
        return FilterContext(root: FilterObject([(key: "env", value: .object(env))]), preferences: preferences)
    }
}

/// The preferences for `preferenceValue`, `preferenceIsUserSet` and `preferenceExists`.
package struct FilterPreferences: Sendable, Equatable {
    /// All existing preferences and their values.
    package var values: [ExactString: FilterValue]
    /// The names of the preferences set by the user.
    package var userSet: Set<ExactString>

    package init(values: [ExactString: FilterValue] = [:], userSet: Set<ExactString> = []) {
        self.values = values
        self.userSet = userSet
    }
}
