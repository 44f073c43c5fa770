"""Programs of ours in processes of their own: their libraries may leak, hang or die, we go on."""
