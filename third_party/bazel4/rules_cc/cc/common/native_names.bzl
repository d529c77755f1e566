"""A global cannot be assigned from itself, so the native names get an alias first."""

native_cc_common = cc_common
native_cc_info = CcInfo
