"""Who plays in these tests, and which of their conversations are mapped."""

from astrbot_plugin_scoped_memory.harness.places import Person, group, private

ADMIN = Person(9000, "管理员")
MEMBER = Person(1501, "阿甲")
ROOM_A = group(501)
ROOM_B = group(502)
MAP = {
    ROOM_A.umo: "测试甲",
    private(MEMBER).umo: "测试甲",
    ROOM_B.umo: "测试乙",
}
