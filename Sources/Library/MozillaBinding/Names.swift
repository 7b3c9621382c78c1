import RemoteSettings

// Aliases for types that have different names in Mozilla's binding.

/// A file attached to a record.
public typealias Attachment = RemoteSettingsAttachment
/// A record's fields as a JSON string.
public typealias RsJsonObject = String
/// The configuration's name before version 152.
public typealias RemoteSettingsConfig2 = RemoteSettingsConfig
